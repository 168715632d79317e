/* SPDX-License-Identifier: MIT */
/* For spreadsheets, pages and monitoring: CSV, Markdown, Prometheus. */
#include "report/exports.h"
#include "report/quote.h"
#include "report/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *plain_value(const struct xr_export *e, const json_t *value)
{
	if (!value)
		return "";
	if (json_is_string(value))
		return json_string_value(value);
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(10));
	const char *copy = xr_arena_strdup(e->arena, text ? text : "");
	free(text);
	return copy;
}

/* Every fact, whatever its status: who reads tables can filter. */
int xr_export_csv(const struct xr_export *e, struct xr_error *err)
{
	(void)err;
	fputs("id,status,value,unit,confidence,claimed,method,reason\n", e->out);
	for (size_t i = 0; i < xr_description_count(e->d); i++) {
		const struct xr_fact *fact = xr_description_at(e->d, i);
		const char *const cell[] = {
			fact->id,
			xr_status_names[fact->status],
			plain_value(e, fact->value),
			fact->unit,
			fact->value ? xr_arena_printf(e->arena, "%.3g", fact->confidence) : "",
			plain_value(e, fact->claimed),
			fact->method ? fact->method : "",
			xr_fact_reason(fact),
		};
		for (size_t c = 0; c < sizeof cell / sizeof *cell; c++)
			fprintf(e->out, "%s%s", c ? "," : "", xr_quote_csv(e->arena, cell[c]));
		fputc('\n', e->out);
	}
	return 0;
}

int xr_export_markdown(const struct xr_export *e, struct xr_error *err)
{
	(void)err;
	const char *cpu = xr_description_target_text(e->d, "cpu");
	fprintf(e->out, "## %s\n\n| fact | value | sure | OS says |\n|---|---|---|---|\n",
	        xr_quote_markdown(e->arena, *cpu ? cpu : "A machine"));
	for (size_t i = 0; i < xr_description_count(e->d); i++) {
		const struct xr_fact *fact = xr_export_fact(e, xr_description_at(e->d, i)->id);
		if (!fact)
			continue;
		const char *value = xr_value_words(e->arena, fact->value, fact->unit);
		bool bare =
			json_is_number(fact->value) && (!strcmp(fact->unit, "cycles") || !strcmp(fact->unit, "lines"));
		fprintf(e->out, "| %s | %s%s%s | %.0f %% | %s |\n", xr_quote_markdown(e->arena, fact->id),
		        xr_quote_markdown(e->arena, value), bare ? " " : "", bare ? fact->unit : "",
		        rint(fact->confidence * 100),
		        fact->claimed ? xr_quote_markdown(e->arena, xr_value_words(e->arena, fact->claimed, fact->unit))
		                      : "");
	}
	return 0;
}

int xr_export_prometheus(const struct xr_export *e, struct xr_error *err)
{
	static const struct {
		const char *name, *help;
	} metrics[] = {
		{"xray_fact", "A measured parameter of this machine."},
		{"xray_fact_confidence", "How sure it is, 0 to 1."},
		{"xray_fact_claimed", "What the operating system says of it."},
	};
	(void)err;
	for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
		fprintf(e->out, "# HELP %s %s\n# TYPE %s gauge\n", metrics[m].name, metrics[m].help, metrics[m].name);
		for (size_t i = 0; i < xr_description_count(e->d); i++) {
			const struct xr_fact *fact = xr_export_fact(e, xr_description_at(e->d, i)->id);
			const json_t *value = !fact ? NULL : m == 2 ? fact->claimed : fact->value;
			if (!json_is_number(value) && !json_is_boolean(value))
				continue;
			double number = json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
			fprintf(e->out, "%s{id=\"%s\",unit=\"%s\"} %.10g\n", metrics[m].name,
			        xr_quote_label(e->arena, fact->id), xr_quote_label(e->arena, fact->unit),
			        m == 1 ? fact->confidence : number);
		}
	}
	return 0;
}
