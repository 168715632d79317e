/* SPDX-License-Identifier: MIT */
/* The reader of machine files must survive anything, and what it accepts it must be able to write and read back. */
#include "../lib/write.h"

#include "target/model/machine.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct xr_machine machine, again;
	struct xr_error err;
	if (xr_machine_parse(&machine, "fuzz.ini", (const char *)data, size, &err)) {
		if (strncmp(err.text, "fuzz.ini:", 9) || strchr(err.text, '\n') || err.code != XR_EXIT_USE)
			abort();
		return 0;
	}
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		abort();
	machine_write(&machine, out);
	fclose(out);
	if (xr_machine_parse(&again, "again.ini", text, bytes, &err)) {
		fprintf(stderr, "%s\n%s", err.text, text);
		abort();
	}
	free(text);
	return 0;
}
