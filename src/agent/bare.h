/* SPDX-License-Identifier: MIT */
/* The agent for boards that cannot be talked to: no OS, no files, a few kilobytes, a console and a counter.
 *
 * A board gives three hooks, in one C file; `xray target init DIR` writes a skeleton. Experiments are baked into the
 * program, which prints its readings and ends. C89 and nothing of the library.
 */
#ifndef XR_AGENT_BARE_H
#define XR_AGENT_BARE_H

void xr_board_init(void);           /* once, first: clock and console are ready when it returns */
unsigned long xr_board_ticks(void); /* a counter that goes up and starts again after 2^XR_TICK_BITS (32 unless given) */
void xr_board_put(int c);           /* one character to the console */

/* ---- from generated code ---- */

/* As sequences of addresses in the specification. */
struct xr_bare_span {
	unsigned long base, stride, count;
};

enum { XR_BARE_CLOCK, XR_BARE_OPS, XR_BARE_CHAIN };

struct xr_bare_spec {
	int kind;
	int nano, twin; /* index of the function, and of the one with twice as many statements; -1: none */
	const struct xr_bare_span *span;
	int n_spans;
	int shuffled;
};

extern const struct xr_bare_spec xr_bare_specs[];
extern const int xr_bare_count;
extern unsigned char xr_bare_buffer[]; /* for address chains */
extern const unsigned long xr_bare_align;

#endif
