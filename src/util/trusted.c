/* SPDX-License-Identifier: MIT */
#include "util/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 };

/* The way there, one name after the other. */
struct way {
	int at;                /* directory we stand in */
	struct xr_strbuf rest; /* names still to go */
	int links;
	bool make;
	bool place; /* of something of ours, not ours itself */
	struct xr_strbuf *why;
};

static int refuse(struct way *w, const char *name, const char *reason)
{
	xr_strbuf_clear(w->why);
	xr_strbuf_printf(w->why, "%s: %s", name, reason);
	return -1;
}

static bool ours(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

/* In a user namespace all who are not in its map have one number, that of nobody: root outside, too, who owns `/`. */
static bool is_nobody(uid_t uid)
{
	enum { NOBODY = 65534 };
	FILE *map = uid == NOBODY ? fopen("/proc/self/uid_map", "re") : NULL;
	unsigned long first, outside, n;
	bool mapped = false;
	while (map && fscanf(map, "%lu %lu %lu", &first, &outside, &n) == 3)
		mapped |= uid >= first && uid - first < n;
	if (map)
		fclose(map);
	return uid == NOBODY && !mapped;
}

/* May others put something else in the place of what is in it? */
static int check(struct way *w, int fd, const char *name)
{
	struct stat st;
	if (fstat(fd, &st))
		return refuse(w, name, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return refuse(w, name, strerror(ENOTDIR));
	if (!ours(&st) && !(w->place && is_nobody(st.st_uid)))
		return refuse(w, name, "belongs to somebody else");
	if ((st.st_mode & 022) && !(st.st_mode & S_ISVTX))
		return refuse(w, name, "others can write to it");
	return 0;
}

static int go_to(struct way *w, int fd, const char *name)
{
	if (fd < 0)
		return refuse(w, name, strerror(errno));
	if (check(w, fd, name)) {
		close(fd);
		return -1;
	}
	if (w->at >= 0)
		close(w->at);
	w->at = fd;
	return 0;
}

static int begin(struct way *w, const char *path)
{
	const char *start = *path == '/' ? "/" : ".";
	return go_to(w, open(start, O_PATH | O_DIRECTORY | O_CLOEXEC), start);
}

/* What the link says goes before what is left of the way. */
static int follow(struct way *w, const char *name, const struct stat *st)
{
	char target[PATH_MAX];
	if (!ours(st) && !(w->place && is_nobody(st->st_uid)))
		return refuse(w, name, "a link of somebody else's");
	if (++w->links > LINKS_MAX)
		return refuse(w, name, strerror(ELOOP));
	ssize_t len = readlinkat(w->at, name, target, sizeof target - 1);
	if (len < 0)
		return refuse(w, name, strerror(errno));
	target[len] = '\0';
	struct xr_strbuf rest = {0};
	xr_strbuf_printf(&rest, "%s/%s", target, xr_strbuf_text(&w->rest));
	xr_strbuf_release(&w->rest);
	w->rest = rest;
	return *target == '/' ? begin(w, "/") : 0;
}

static int step(struct way *w, const char *name)
{
	struct stat st;
	if (fstatat(w->at, name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT || !w->make)
			return refuse(w, name, strerror(errno));
		if (mkdirat(w->at, name, 0700) && errno != EEXIST)
			return refuse(w, name, strerror(errno));
	} else if (S_ISLNK(st.st_mode)) {
		return follow(w, name, &st);
	}
	return go_to(w, openat(w->at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), name);
}

/* Takes the next name off the way; "" at its end. */
static void next_name(struct way *w, char name[NAME_MAX + 1])
{
	const char *text = xr_strbuf_text(&w->rest), *from = text + strspn(text, "/");
	size_t len = strcspn(from, "/");
	struct xr_strbuf rest = {0};
	size_t kept = len <= NAME_MAX ? len : NAME_MAX;
	memcpy(name, from, kept);
	name[kept] = '\0';
	xr_strbuf_printf(&rest, "%s", from + len);
	xr_strbuf_release(&w->rest);
	w->rest = rest;
}

static int walk(struct way *w, const char *path)
{
	char name[NAME_MAX + 1];
	xr_strbuf_printf(&w->rest, "%s", path);
	int status = begin(w, path);
	while (!status) {
		next_name(w, name);
		if (!*name)
			break;
		if (strcmp(name, ".") != 0)
			status = step(w, name);
	}
	xr_strbuf_release(&w->rest);
	return status;
}

int xr_trusted_place(const char *path, struct xr_strbuf *why)
{
	struct way w = {.at = -1, .place = true, .why = why};
	int status = walk(&w, path);
	if (w.at >= 0)
		close(w.at);
	return status;
}

int xr_trusted_open(const char *path, bool make, struct xr_strbuf *why)
{
	struct way w = {.at = -1, .make = make, .why = why};
	struct stat st;
	int status = walk(&w, path);
	if (!status && (fstat(w.at, &st) || st.st_uid != geteuid() || (st.st_mode & 022)))
		status = refuse(&w, path, "it is not writable by you alone");
	int fd = status ? -1 : openat(w.at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!status && (fd < 0 || faccessat(fd, ".", W_OK | X_OK, 0))) {
		status = refuse(&w, path, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	if (w.at >= 0)
		close(w.at);
	return status ? -1 : fd;
}
