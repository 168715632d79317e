/* SPDX-License-Identifier: MIT */
/* Opening targets. Each returns NULL with err filled in when the target cannot be used. */
#ifndef XR_TARGET_OPEN_H
#define XR_TARGET_OPEN_H

#include "target/target.h"
#include "util/watch.h"

/* Are the target's times its own? What nobody states is found out (target/host/nature.h). */
enum xr_timing { XR_TIMING_FIND_OUT, XR_TIMING_YES, XR_TIMING_NO };

/* What a target file says beyond the options of the command line; see docs/targets.md. {0}: nothing. */
struct xr_target_words {
	const char *name;     /* NULL: "host" */
	const char *cpu, *os; /* words for people; NULL: this machine's where the target is this machine */
	const char *ldflags;  /* for the linker, behind everything; NULL: none */
	const char *agent_flags; /* for the agent alone (its clock); NULL: none */
	const char *board;    /* C file with the hooks of agent/bare.h: a board without an OS, that only prints; NULL: none */
	double clock_hz;      /* steps of that board's counter per second */
	const char *clock;    /* what the clock is, for people; NULL: POSIX */
	enum xr_timing timing;
	double mips;          /* millions of simple operations per second of the wall clock; 0: measured */
	uint64_t memory_bytes; /* 0: what this machine has to give */
	bool no_threads;
};

struct xr_host_options {
	const char *cc;       /* NULL: $CC's place is the caller's business; "cc" */
	const char *cflags;   /* NULL: "-O2" */
	const char *runner;   /* command put in front of the agent; NULL: none */
	const char *form;     /* "barrier" (NULL) or "switch" */
	const char *keep;     /* directory that gets the generated C; NULL: not kept */
	const char *cache;    /* directory for compiled experiments; NULL: none is kept */
	const char *tmp;      /* directory for the private working directory; NULL: "/tmp" */
	int cpu;              /* logical CPU to measure on; -1: choose */
	double sample_ns;     /* 0: from the clock */
	bool baked;           /* batch inside the agent, readings printed: no talking */
	struct xr_target_words words;
	struct xr_watch watch; /* until when opening may take, and the target after it until xr_target_until() */
};
struct xr_target *xr_host_open(const struct xr_host_options *options, struct xr_error *err);

/* The same where words.board is given. */
struct xr_target *xr_board_open(const struct xr_host_options *options, struct xr_error *err);

/* A machine file with kind = simulated. seed: of its noise and page placement. The same from text that was read from
 * there. */
struct xr_target *xr_model_open(const char *path, uint64_t seed, struct xr_error *err);
struct xr_target *xr_model_open_text(const char *path, const char *text, size_t bytes, uint64_t seed,
                                     struct xr_error *err);

/* The text of a target file with kind = exec: fills in what `options` leave open (what they say wins). Strings
 * live in the arena. */
int xr_target_file_parse(const char *path, const char *text, size_t bytes, struct xr_arena *arena,
                         struct xr_host_options *options, struct xr_error *err);

/* Looks at [target] kind: a machine that runs things, a simulated one, or a recording (its `readings` key names
 * the file beside it). `host` options serve kinds that run things, their watch also reading. */
struct xr_target *xr_target_open(const char *path, const struct xr_host_options *host, uint64_t seed,
                                 struct xr_error *err);

/* From now on every specification and its reading goes to DIR (made if missing). */
int xr_target_record(struct xr_target *target, const char *dir, struct xr_error *err);

#endif
