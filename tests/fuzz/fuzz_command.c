/* SPDX-License-Identifier: MIT */
/* The command line: words between zero bytes. Only read, not obeyed. */
#include "../../cli/cli.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int quiet;
	enum { WORDS = 64 };
	char *argv[WORDS + 2] = {(char *)(size_t) "xray"};
	int argc = 1;
	struct settings settings;
	if (!quiet) { /* what is wrong with it is said on standard error, a million times */
		int null = open("/dev/null", O_WRONLY);
		if (null >= 0 && !getenv("XR_LOUD"))
			stderr = fdopen(null, "w");
		quiet = 1;
	}
	char *text = calloc(1, size + 1);
	if (!text)
		abort();
	memcpy(text, data, size);
	for (size_t at = 0; at < size && argc <= WORDS; at += strlen(text + at) + 1)
		argv[argc++] = text + at;
	argv[argc] = NULL;
	cli_parse(argc, argv, &settings);
	free(text);
	return 0;
}
