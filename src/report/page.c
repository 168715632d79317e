/* The page: a template, made from web/ by scripts/page, with one description in it.
 *
 * The description stands in the page as JSON, and the page's own script draws it. Whatever its texts say, they
 * cannot end that block or become markup: outside of ASCII, and `<`, `>` and `&`, everything is written as
 * \uXXXX, which JSON has in texts only. Beside it stand the values in words, so that page and terminal say the
 * same.
 *
 * SPDX-License-Identifier: MIT
 */
#include "facts/trust.h"
#include "report/compare.h"
#include "report/report.h"
#include "report/value.h"

#include <stdlib.h>
#include <string.h>

static const char marker[] = "@DESCRIPTION@";

static void put_safe(FILE *out, const char *json)
{
	for (; *json; json++)
		if (*json == '<' || *json == '>' || *json == '&')
			fprintf(out, "\\u%04x", (unsigned)*json);
		else
			fputc(*json, out);
}

/* { "value": "48 KiB~", "claimed": "32 KiB" } of each fact that has either; "differs" is there, with what may explain it,
 * where `xray check` says so. */
static json_t *words_of(const struct xr_description *d)
{
	struct xr_arena arena = {0};
	json_t *all = json_object();
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		json_t *words = json_object();
		if (fact->value)
			json_object_set_new(words, "value", json_string(xr_fact_words(&arena, fact, xr_trust_usual)));
		if (fact->claimed)
			json_object_set_new(words, "claimed",
			                    json_string(xr_value_words(&arena, fact->claimed, fact->unit)));
		if (fact->claimed && fact->value && fact->status == XR_OK &&
		    !xr_values_agree(fact->value, fact->claimed, fact->unit, fact->id)) {
			const char *why = xr_claim_explanation(d, fact);
			json_object_set_new(words, "differs", json_string(why ? why : ""));
		}
		json_object_set_new(all, fact->id, words);
	}
	xr_arena_release(&arena);
	return all;
}

int xr_report_page(FILE *out, const struct xr_description *d, const char *page, size_t bytes, struct xr_error *err)
{
	const char *at = bytes ? memmem(page, bytes, marker, strlen(marker)) : NULL;
	if (!at)
		return xr_fail(err, XR_EXIT_USE,
		               "this xray was built without the page, which takes npm: `make page` builds it");
	json_t *all = json_pack("{s:s, s:o, s:o}", "version", xr_version(), "description", xr_description_to_json(d),
	                        "words", words_of(d));
	char *text = all ? json_dumps(all, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(10)) : NULL;
	json_decref(all);
	if (!text)
		return xr_fail(err, XR_EXIT_USE, "out of memory");
	fwrite(page, 1, (size_t)(at - page), out);
	put_safe(out, text);
	at += strlen(marker);
	fwrite(at, 1, bytes - (size_t)(at - page), out);
	free(text);
	return 0;
}
