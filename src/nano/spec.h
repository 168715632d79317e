/* SPDX-License-Identifier: MIT */
/* What to time: the specification of one nano-benchmark, as data.
 *
 * There are five kinds of experiment, and a sixth that looks at the clock itself:
 *
 *   XR_CLOCK  look at the clock back to back: what does a look cost, what is the smallest step
 *   XR_OPS    streams of operations over typed variables; the only kind that needs a compiler at run time
 *   XR_CHAIN  addresses visited one after the other, each address read from the one before
 *   XR_FLOW   bytes read, written or copied in order
 *   XR_WALK   blocks of code visited by jumps
 *   XR_TEAM   several pinned threads at once
 *
 * A specification owns nothing: the pointers inside belong to whoever made it (usually the run's arena) and must
 * live until the call that times it returns. Two specifications with the same xr_spec_text() are the same experiment:
 * that text is the key of caches and recordings, the agent's message, and the provenance line of generated C.
 */
#ifndef XR_NANO_SPEC_H
#define XR_NANO_SPEC_H

#include "nano/ops.h"
#include "util/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- operation streams ------------------------------------------------------------------------------------- */

/* The papers' function from i to a statement: which variable feeds the i-th statement of a stream of n variables. */
enum xr_link {
	XR_SELF,   /* p_i = p_i OP q           : n independent chains */
	XR_HALF,   /* p_i = p_i OP p_(i+n-n/2) : paper 001's half distance, for register counting; no q */
	XR_NEXT,   /* p_i = p_i OP p_(i-1)     : paper 002's neighbour chain; no q */
	XR_FRESH,  /* p_i = q OP r             : nothing carried; every statement is independent of all others */
};

enum xr_values {
	XR_SHORT,  /* ordinary operands; for ranged operations the quick ones (short quotient, short mantissa) */
	XR_LONG,   /* for ranged operations the slow ones (long quotient, full mantissa) */
};

/* One component of a body: statements of one operation on one type. */
struct xr_stream {
	enum xr_op op;
	enum xr_type type;
	int n;               /* N: variables, each a chain of its own under XR_SELF */
	int share;           /* B: statements of this stream in one round of the body (0 means n) */
	enum xr_link link;
	enum xr_values values;
	const char *text;    /* XR_TEXT: the statement; p0, p1, p2 … stand for its variables, see docs/time.md */
};

enum xr_flavour {
	XR_PLAIN,   /* the compiler as it comes, with the user's flags */
	XR_NATIVE,  /* also told to use all the machine has (-march=native or alike) */
};

enum { XR_STREAMS_MAX = 6 };

/* A body is `unroll` statements (rounded up to whole rounds): round-robin over the streams, each giving `share`
 * statements a round, spread evenly. A reading is the time of ONE ROUND DIVIDED BY the statements in it, i.e. per
 * statement, whatever the mix. */
struct xr_ops_spec {
	int n_streams;
	struct xr_stream stream[XR_STREAMS_MAX];
	int unroll;          /* U: statements between two backward jumps; 0: the default (64) */
	enum xr_flavour flavour;
};

/* ---- address chains ---------------------------------------------------------------------------------------- */

/* The papers' sequence <base, stride, count>: base, base + stride, …, in bytes from the start of the buffer. */
struct xr_span {
	uint64_t base, stride;
	uint32_t count;
};

enum xr_access {
	XR_READ,    /* dependent: the next address is in the word just read */
	XR_WRITE,   /* store to each address (varying non-zero value), addresses from a table, so independent */
	XR_TOUCH,   /* independent loads, addresses from a table: as many in flight as the core can */
};

enum { XR_PHASES_MAX = 6 };

/* One walk over a set of addresses. */
struct xr_phase {
	const struct xr_span *span; /* the union of these */
	size_t n_spans;
	uint64_t seed;       /* order: Fisher-Yates with this seed; 0: as listed */
	enum xr_access access;
	unsigned passes;     /* walks over the set per repetition; 0 (only as the sole, timed phase): go round and round */
	bool timed;          /* counts towards the reading */
};

/* How a buffer is backed. The same id, bytes and backing name the same memory from one specification to the next, as
 * long as the target stays open: page colours found once stay valid. Contents do not persist. */
enum xr_backing {
	XR_SMALL,     /* the smallest pages, huge ones refused */
	XR_HUGE,      /* huge pages asked for; granted or not is for timing to find out */
	XR_SHUFFLED,  /* small pages in random physical order, so that neighbours cannot be coalesced */
	XR_ANY,       /* as the OS likes: what a plain malloc gives */
};

struct xr_buffer {
	unsigned id;
	uint64_t bytes;
	enum xr_backing backing;
};

/* Reading: time per access of the timed phases. With one endless phase: the steady state. With several phases: the
 * whole script is one repetition; only timed phases count; each repetition gives a sample (see xr_reading.sample).
 * cursors > 1 (only with the endless phase): that many chains over the same cycle, evenly spaced, advanced in turn;
 * the reading stays per access of one cursor, so it stays flat while misses overlap. */
struct xr_chain_spec {
	struct xr_buffer buffer;
	unsigned n_phases;
	struct xr_phase phase[XR_PHASES_MAX];
	unsigned cursors; /* 0 means 1 */
	bool unsettled;   /* endless walks only: without the visits in random order that otherwise come before a walk over few
	                   * places. Quicker; but an order that repeats may suit a replacement policy so badly that a line
	                   * nobody wants is never evicted */
	bool rolling;     /* endless walks only: walks of one call over the same places share their links, and each goes on
	                   * where others stopped, so that none finds what another has just brought */
	uint64_t storing; /* not 0: bytes of a line. Endless walks of one cursor that read, and visit no word twice: each
	                   * access is followed by a store of a varying value to the last word of its line, which
	                   * is none of those visited */
};

/* ---- flows of bytes ---------------------------------------------------------------------------------------- */

enum xr_flow_kind {
	XR_FLOW_READ,
	XR_FLOW_WRITE,
	XR_FLOW_COPY,  /* the first half to the second */
	XR_FLOW_PAST,  /* stores past the caches (non-temporal) */
};
enum { XR_FLOW_APART = 2112 }; /* bytes that the buffer of a copy must be larger than what it goes over */

/* All bytes from 0 on, in order, over and over. Reading: time per 64 bytes that the program reads or writes; a
 * copy does both, so that 64 bytes copied count twice. What the machine moves besides, such as lines that are
 * read because they will be written, is not counted. reading.code_bytes: bytes of one access, really. */
struct xr_flow_spec {
	struct xr_buffer buffer;
	enum xr_flow_kind kind;
	uint64_t bytes;   /* gone over, at least 2 KiB */
	unsigned width;   /* bytes of one access at most; 0: the widest there are */
	unsigned lanes;   /* XR_FLOW_READ: 4: as many places at a time, a quarter of the bytes apart; 0 or 1: one */
	unsigned pause;   /* steps of a chain of two operations after each KiB: a flow slower than it could be */
};

/* ---- code walks -------------------------------------------------------------------------------------------- */

enum xr_walk_kind {
	XR_JUMPS,     /* from block to block by indirect jumps over fresh random permutations: unpredictable */
	XR_PATTERN,   /* the same fixed order every lap, by direct jumps where the target can write them: foreseen */
	XR_STRAIGHT,  /* one run of straight-line statements of span[0].count × span[0].stride bytes, then back: paper 003 */
};

/* Statements that make a block half a usual line long, and a whole one, where instructions are short. */
enum { XR_BLOCK_SOME = 6, XR_BLOCK_MANY = 22 };

/* Blocks of code at these addresses of an executable region. Reading: time per block visited (XR_JUMPS, XR_PATTERN),
 * per statement (XR_STRAIGHT; the model's statement takes 4 bytes, a real target says in reading.code_bytes). */
struct xr_walk_spec {
	enum xr_walk_kind kind;
	unsigned region;      /* as xr_buffer.id: the same region from one specification to the next */
	uint64_t bytes;       /* size of the region */
	const struct xr_span *span;
	size_t n_spans;
	uint64_t seed;
	unsigned statements;  /* XR_JUMPS: additions before the jump of each block: none, or one of the next */
	uint64_t data_bytes;  /* after each lap over the blocks so many bytes of data are read, in order; part of the time */
};

/* ---- teams of threads --------------------------------------------------------------------------------------- */

enum xr_team_kind {
	XR_TOGETHER,   /* every member runs its work over and over; reading: member 0's work, timed as if alone */
	XR_WALL,       /* fixed work each, started together; reading: wall time until the last is done, per unit of work */
	XR_PINGPONG,   /* members 0 and 1 hand one line to and fro; reading: one way */
	XR_PIPE,       /* member 0 writes `bytes`, member 1 reads them, by turns; reading: ns per 64 bytes moved */
	XR_FALSE,      /* members 0 and 1 each write their own word, `bytes` apart; reading: one write of member 0. The first
	                * word is aligned to any granule; the writes are indivisible, so that none waits in a store buffer */
	XR_SLICES,     /* members spin on the clock on one CPU; samples: run lengths in ns between gaps > 200 us (or > `bytes`
	                * ns, when given) */
	XR_SWITCH,     /* two members on one CPU hand over by the OS; reading: one switch */
	XR_TICKS,      /* a member spins on the clock that the OS's tick advances; samples: ns from one step of it to the next,
	                * of those between which the member was never off for > 200 us */
};

struct xr_spec;

struct xr_member {
	int cpu;                     /* logical CPU (one of xr_target_info.cpu); -1: wherever the OS likes */
	const struct xr_spec *work;  /* XR_TOGETHER, XR_WALL: an XR_OPS, XR_CHAIN or XR_FLOW specification */
};

struct xr_team_spec {
	enum xr_team_kind kind;
	const struct xr_member *member;
	unsigned n_members;
	uint64_t bytes;
	double window_ns;   /* XR_WALL: wanted length of one window alone; XR_SLICES, XR_TICKS: how long to watch */
};

/* ---- one of them -------------------------------------------------------------------------------------------- */

enum xr_kind { XR_CLOCK, XR_OPS, XR_CHAIN, XR_WALK, XR_TEAM, XR_FLOW };

struct xr_spec {
	enum xr_kind kind;
	union {
		struct xr_ops_spec ops;
		struct xr_chain_spec chain;
		struct xr_walk_spec walk;
		struct xr_team_spec team;
		struct xr_flow_spec flow;
	};
};

/* The specification in one line: words and numbers separated by single blanks, no newline. Deterministic. */
char *xr_spec_text(struct xr_arena *arena, const struct xr_spec *spec);

/* Shorthands for the common cases. */
struct xr_spec xr_spec_stream(enum xr_op op, enum xr_type type, int n);                     /* XR_SELF, plain */
struct xr_spec xr_spec_mix(const struct xr_stream *streams, int n_streams);
struct xr_spec xr_spec_cycle(struct xr_buffer buffer, const struct xr_span *span, size_t n_spans, uint64_t seed);

#endif
