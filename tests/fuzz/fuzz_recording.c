/* SPDX-License-Identifier: MIT */
/* A recording from a stranger: read, and measured as far as it goes. */
#include "engine/engine.h"
#include "facts/facts.h"
#include "micro/table.h"
#include "target/open.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file_with(const void *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const select[] = {"timer",     "cpu.frequency", "op.add", "op.mul",
	                                     "registers", "core",          "branch"};
	const struct xr_plan plan = {.select = select, .n_select = 7};
	const struct xr_host_options host = {.cpu = -1};
	struct xr_outcome outcome;
	struct xr_error err;
	char ini[100], path[64];
	int readings = file_with(data, size);
	snprintf(ini, sizeof ini, "[target]\nkind = recorded\nreadings = /proc/self/fd/%d\n", readings);
	int file = file_with(ini, strlen(ini));
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	struct xr_target *target = xr_target_open(path, &host, 0, &err);
	if (target) {
		struct xr_description *d = xr_description_new();
		xr_engine_run(target, xr_micro_table, &plan, 0, NULL, d, &outcome, &err);
		xr_description_free(d);
		xr_target_free(target);
	} else if (strchr(err.text, '\n') || err.code != XR_EXIT_USE) {
		abort();
	}
	close(file);
	close(readings);
	return 0;
}
