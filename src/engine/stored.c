/* SPDX-License-Identifier: MIT */
/* A description that is measured once and read afterwards: what a self-tuning program asks for when it starts.
 *
 * The file's name is a hash of what facts hang on: CPU, kernel, control group and its limits, the CPUs allowed, compiler
 * and flags, what was asked for. Another machine, or the same in another container, is another file.
 */
#include "target/host/os.h"
#include "util/arena.h"
#include "util/files.h"
#include "util/hash.h"
#include "util/strbuf.h"
#include "xray.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t mix(uint64_t key, const char *text)
{
	return xr_hash(xr_hash(key, text ? text : "-", text ? strlen(text) : 1), "|", 1);
}

/* The compiler is known by its file, where that is in one of the usual places: asking it for its version would take longer
 * than reading the answer. */
static uint64_t mix_compiler(uint64_t key, struct xr_arena *arena, const char *command)
{
	static const char *const places[] = {"", "/usr/local/bin/", "/usr/bin/", "/bin/"};
	int len = (int)strcspn(command, " ");
	struct stat st;
	key = mix(key, command);
	for (size_t i = memchr(command, '/', (size_t)len) ? 0 : 1; i < sizeof places / sizeof *places; i++) {
		if (stat(xr_arena_printf(arena, "%s%.*s", places[i], len, command), &st))
			continue;
		key = xr_hash(key, &st.st_size, sizeof st.st_size);
		return xr_hash(key, &st.st_mtime, sizeof st.st_mtime);
	}
	return key;
}

static uint64_t key_of(struct xr_arena *arena, const struct xr_options *options, const struct xr_plan *plan)
{
	struct xr_strbuf group = {0};
	const int *cpus;
	int n_cpus = xr_os_cpus(arena, &cpus);
	double quota = xr_os_quota();
	uint64_t key = mix(mix(0, XR_VERSION), xr_os_cpu_name(arena));
	key = mix(key, xr_os_name(arena));
	if (!xr_file_read("/proc/self/cgroup", &group))
		key = mix(key, xr_strbuf_text(&group));
	xr_strbuf_release(&group);
	key = xr_hash(key, &quota, sizeof quota);
	key = xr_hash(key, cpus, (size_t)n_cpus * sizeof *cpus);
	key = mix_compiler(key, arena, options && options->cc ? options->cc : "cc");
	key = mix(key, options ? options->cflags : NULL);
	key = mix(key, options ? options->target : NULL);
	for (size_t i = 0; plan && i < plan->n_select; i++)
		key = mix(key, plan->select[i]);
	return plan && plan->quick ? mix(key, "quick") : key;
}

/* NULL: not there, too old, or not to be read, which is no error: it is measured anew. */
static struct xr_description *read_if_fresh(const char *path, double max_age_s)
{
	struct stat st;
	if (stat(path, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return NULL;
	if (max_age_s > 0 && difftime(time(NULL), st.st_mtime) > max_age_s)
		return NULL;
	return xr_description_read(path, NULL);
}

struct xr_description *xr_description_stored(const char *dir, double max_age_s, const struct xr_options *options,
                                             const struct xr_plan *plan, struct xr_error *err)
{
	struct xr_arena arena = {0};
	struct xr_description *d = NULL;
	struct xr_session *session = NULL;
	struct stat st;
	if (mkdir(dir, 0700) && errno != EEXIST) {
		xr_fail(err, XR_EXIT_USE, "cannot make %.800s: %s", dir, strerror(errno));
		return NULL;
	}
	if (stat(dir, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022)) {
		xr_fail(err, XR_EXIT_USE, "%.800s must be a directory of ours that nobody else can write", dir);
		return NULL;
	}
	const char *path =
		xr_arena_printf(&arena, "%s/machine-%016" PRIx64 ".json", dir, key_of(&arena, options, plan));
	d = read_if_fresh(path, max_age_s);
	if (!d && (session = xr_session_open(options, err)) && (d = xr_session_measure(session, plan, NULL, err)))
		(void)xr_description_write(d, path, NULL); /* a full disk costs the next start some time, no more */
	xr_session_free(session);
	xr_arena_release(&arena);
	return d;
}
