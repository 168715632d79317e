/* SPDX-License-Identifier: MIT */
/* Descriptions may come from anywhere: whatever is read is refused with a reason, or can be shown in every form. */
#include "report/exports.h"
#include "report/report.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct xr_style style = {.colour = true, .width = 80};
	struct xr_error err;
	struct xr_description *d = xr_description_parse((const char *)data, size, "fuzz", &err);
	if (!d)
		return 0;
	FILE *out = fopen("/dev/null", "w");
	if (!out)
		abort();
	xr_report_screen(out, d, &style);
	xr_report_terminal(out, d, &style, false);
	xr_report_terminal(out, d, &style, true);
	xr_report_header(out, d, "XRAY", 0.8, NULL);
	xr_report_check(out, d, &style, true);
	xr_report_diff(out, d, d, "a", "b", &style, true);
	xr_report_plot(out, d, &style, NULL);
	xr_report_plot(out, d, &style, "cache");
	for (const struct xr_export_form *form = xr_export_forms; form->name; form++)
		xr_report_export(out, d, form->name, 0, &err);
	fclose(out);
	char *text = xr_description_text(d);
	free(text);
	xr_description_free(d);
	return 0;
}
