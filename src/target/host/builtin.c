/* SPDX-License-Identifier: MIT */
#include "target/host/builtin.h"

#include "util/files.h"
#include "util/hash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char xr_builtin_needs[] = "needs a C compiler";

bool xr_builtin_there(void)
{
	return xr_builtin_program_end - xr_builtin_program > 1;
}

static size_t object_bytes(void)
{
	return (size_t)(xr_builtin_object_end - xr_builtin_object);
}

bool xr_builtin_object_there(void)
{
	return object_bytes() > 1;
}

uint64_t xr_builtin_object_key(void)
{
	return xr_hash(0, xr_builtin_object, object_bytes());
}

const char *xr_builtin_object_path(struct xr_toolchain *tc)
{
	const char *path = xr_arena_printf(tc->arena, "%s/agent.o", tc->work);
	return xr_file_exists(path) || !xr_file_write(path, xr_builtin_object, object_bytes()) ? path : NULL;
}

uint64_t xr_builtin_id(const struct xr_spec *spec)
{
	struct xr_arena scratch = {0};
	const char *text = xr_spec_text(&scratch, spec);
	uint64_t id = xr_hash(0, text, strlen(text));
	xr_arena_release(&scratch);
	return id;
}

/* Where files cannot be run (a /tmp without exec), memory can. It stays open for as long as we live. */
static const char *in_memory(struct xr_toolchain *tc, size_t bytes)
{
	int fd = memfd_create("xray-agent", MFD_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (write(fd, xr_builtin_program, bytes) != (ssize_t)bytes) {
		close(fd);
		return NULL;
	}
	return xr_arena_printf(tc->arena, "/proc/%ld/fd/%d", (long)getpid(), fd);
}

static int unpack(struct xr_toolchain *tc, struct xr_error *err)
{
	size_t bytes = (size_t)(xr_builtin_program_end - xr_builtin_program);
	const char *path = xr_arena_printf(tc->arena, "%s/agent", tc->work);
	if (tc->builtin_path)
		return 0;
	if (!xr_file_write_program(path, xr_builtin_program, bytes) && !access(path, X_OK))
		tc->builtin_path = path;
	else
		tc->builtin_path = in_memory(tc, bytes);
	return tc->builtin_path ? 0 : xr_fail(err, XR_EXIT_TARGET, "cannot unpack the agent: %s", strerror(errno));
}

int xr_builtin_build(struct xr_toolchain *tc, const struct xr_spec *specs, size_t n, struct xr_compiled *out,
                     const char **program, struct xr_error *err)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t id = xr_builtin_id(&specs[i]);
		size_t k = 0;
		while (k < xr_builtin_count && xr_builtin_ids[k] != id)
			k++;
		out[i] = (struct xr_compiled){.failure = k < xr_builtin_count ? NULL : xr_builtin_needs,
		                              .place = (long)k + 1};
	}
	if (unpack(tc, err))
		return -1;
	*program = tc->builtin_path;
	return 0;
}
