/* SPDX-License-Identifier: MIT */
/* The three hooks by which X-Ray's agent knows a board. As it stands this file runs on the machine at hand, so that
 *
 *   xray --target target.ini timer
 *
 * works at once; change one hook after the other, and the compiler in target.ini. docs/boards.md goes through it.
 */
#include "bare.h"

#include <stdio.h>
#include <time.h>

/* Once, before everything else: start the counter, make the console ready. */
void xr_board_init(void)
{
}

/* A counter that only goes up and starts again after 2^XR_TICK_BITS (board_flags in target.ini; 32 when not said). Its steps
 * per second are clock_hz in target.ini. As fine as there is one: a cycle counter, a timer without a divider. No
 * interrupts, if it can be helped: they would be measured, too. */
unsigned long xr_board_ticks(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000000ul + (unsigned long)t.tv_nsec;
}

/* One character to the console: a serial port, semihosting, a debugger. Wait until it is gone. */
void xr_board_put(int c)
{
	putchar(c);
	if (c == '\n')
		fflush(stdout);
}
