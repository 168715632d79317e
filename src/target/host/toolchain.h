/* SPDX-License-Identifier: MIT */
/* The target's compiler: from C to programs, through a cache of everything compiled before.
 *
 * The cache is addressed by content (text, compiler, flags, predefined macros), so a hit is what compiling would have
 * made. A program is kept once it has run.
 */
#ifndef XR_TARGET_HOST_TOOLCHAIN_H
#define XR_TARGET_HOST_TOOLCHAIN_H

#include "nano/emit.h"
#include "target/host/cache.h"
#include "target/open.h"
#include "util/arena.h"

/* A specification that was compiled, or refused, before. */
struct xr_known {
	uint64_t id;         /* of its text */
	uint64_t unit;       /* whose object holds it */
	const char *failure; /* NULL: it compiled */
	struct xr_look look;
};

struct xr_toolchain {
	const char *cc, *cflags;
	enum xr_form form;
	bool gnu;                    /* GNU-like: assembler text can be looked at, empty asm is a barrier */
	const char *native_flag;     /* NULL: no such flavour */
	const char *name;            /* "gcc 12.2.0" */
	const char *triple;          /* "aarch64-linux-gnu"; NULL: it does not say */
	const char *ldflags;         /* for the linker; "": none */
	const char *agent_flags;     /* for the agent alone; "": none */
	const char *board;           /* C file with a board's hooks, for the agent of agent/bare.h; NULL: the one that talks */
	const char *unoptimised; /* see struct xr_target_info */
	bool threads;
	const char *work;            /* private directory, removed by release */
	int work_lock;
	struct xr_cache cache;
	uint64_t unproved;           /* program that was linked and has not run yet; 0: none */
	const char *keep;            /* NULL: generated C is not kept */
	const char *warning;         /* NULL, or why there is no cache */
	bool builtin;                /* there is no compiler: the agent that X-Ray carries must do (builtin.h) */
	const char *builtin_path;    /* NULL: not unpacked yet */
	uint64_t carried;            /* the agent is linked from the object that X-Ray carries, of this key; 0: compiled here */
	uint64_t identity[2];        /* per flavour */
	int parallel;                /* compilations at a time */
	int n_hung;                  /* that did not finish */
	struct xr_known *known;      /* by this process: nothing is compiled twice */
	size_t n_known, room_known;
	struct xr_arena *arena;
	const struct xr_watch *watch; /* the target's */
};

int xr_toolchain_init(struct xr_toolchain *tc, const struct xr_host_options *options, int parallel,
                      struct xr_arena *arena, const struct xr_watch *watch, struct xr_error *err);
void xr_toolchain_release(struct xr_toolchain *tc);

/* The program built last has run, and answered as it should. */
void xr_toolchain_proved(struct xr_toolchain *tc);

/* One function of the program. */
struct xr_compiled {
	const char *failure;  /* NULL: it compiled; else the compiler's own words */
	struct xr_look look;
	long place;           /* in the program's table, from 1; 0: by the order of those that compiled */
};

/* Compiles the specifications (all XR_OPS, no two the same text) in batches; a batch that fails is halved until
 * only the guilty ones fail. Then links those that compiled with the agent; *program gets the path, table order
 * is the order of the specifications that compiled. script: NULL, or lines baked into the program
 * (NULL-terminated); for a board, its table in C. program NULL: only compiles. */
int xr_toolchain_build(struct xr_toolchain *tc, const struct xr_spec *specs, size_t n, struct xr_compiled *out,
                       const char *const *script, const char **program, struct xr_error *err);

#endif
