/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

int cmd_clear_cache(const struct settings *s)
{
	char path[PATH_MAX];
	const char *cache;
	struct xr_error err;
	size_t files = 0;
	uint64_t bytes = 0;
	if (cli_cache_folder(s, path, &cache, &err) || (cache && xr_cache_clear(cache, &files, &bytes, &err)))
		return cli_fail(&err);
	if (!s->quiet)
		printf("%zu files, %" PRIu64 " KiB removed\n", files, bytes >> 10);
	return cli_finish_stdout();
}
