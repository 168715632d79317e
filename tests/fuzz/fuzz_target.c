/* SPDX-License-Identifier: MIT */
/* Files of targets that run things: a compiler, a runner, a clock. Nothing is run here. */
#include "target/open.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct xr_host_options options = {.cpu = -1};
	struct xr_arena arena = {0};
	struct xr_error err = {0};
	if (xr_target_file_parse("fuzz.ini", (const char *)data, size, &arena, &options, &err) &&
	    (strncmp(err.text, "fuzz.ini", 8) != 0 || strchr(err.text, '\n') || err.code != XR_EXIT_USE))
		abort();
	xr_arena_release(&arena);
	return 0;
}
