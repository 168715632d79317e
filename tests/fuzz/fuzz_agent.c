/* SPDX-License-Identifier: MIT */
/* What an agent behind a runner may say, line by line, up to the target's border. */
#include "target/border.h"
#include "target/host/answer.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { ASKED = 5 };
	const struct xr_spec spec = xr_spec_stream(XR_ADD, XR_I32, 1);
	char *text = calloc(1, size + 1), *rest = NULL;
	if (!text)
		abort();
	memcpy(text, data, size);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct xr_answer a;
		enum xr_answer_kind kind = xr_answer_read(line, ASKED, &a);
		if (kind > XR_ANSWER_WRONG && kind != XR_ANSWER_DONE && a.index >= ASKED)
			abort();
		if (kind == XR_ANSWER_BAD && (a.reason < line || a.reason > line + strlen(line)) && *a.reason)
			abort();
		if (kind == XR_ANSWER_SAMPLE && xr_border_raw(&spec, &a.raw)) {
			double each =
				(a.raw.long_ns - a.raw.short_ns) / (a.raw.long_ops - a.raw.short_ops) / a.raw.ref_ns;
			if (!isfinite(a.raw.long_ns) || !isfinite(a.raw.ref_ns) || isnan(each))
				abort();
		}
	}
	free(text);
	return 0;
}
