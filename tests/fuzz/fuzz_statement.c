/* SPDX-License-Identifier: MIT */
/* Statements of `xray time`: the reader, the generator of C, and the model's small compiler. */
#include "engine/statement.h"
#include "facts/facts.h"
#include "nano/emit.h"
#include "target/open.h"
#include "util/strbuf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct xr_target *model;
	static const char *const types[] = {"i32", "f64", "v32f32", "i8", "nonsense"};
	struct xr_error err;
	if (!size)
		return 0;
	if (!model && !(model = xr_model_open("machines/p6.ini", 1, &err)))
		abort();
	char *text = calloc(1, size);
	if (!text)
		abort();
	memcpy(text, data + 1, size - 1);
	struct xr_spec spec = xr_spec_stream(XR_TEXT, XR_I32, 3);
	struct xr_strbuf code = {0};
	spec.ops.stream[0].text = text;
	if (*text && !strpbrk(text, "\n\r"))
		xr_emit_unit(&code, &spec, 1, data[0] & 1 ? XR_FORM_SWITCH : XR_FORM_BARRIER);
	xr_strbuf_release(&code);

	const struct xr_statement statement = {.text = text, .type = types[data[0] % 5], .native = data[0] & 64};
	const struct xr_plan plan = {.quick = true};
	struct xr_outcome outcome;
	struct xr_description *d = xr_description_new();
	xr_statement_run(model, &statement, &plan, 0, d, &outcome, &err);
	xr_description_free(d);
	free(text);
	return 0;
}
