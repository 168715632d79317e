/* SPDX-License-Identifier: MIT */
/* What the target is by nature: the sizes of C's types, its byte order, and whether code is translated before it
 * runs. */
#ifndef XR_AGENT_NATURE_H
#define XR_AGENT_NATURE_H

/* Prints the line `about`. FRESH: what a function costs the first time it is called, more than the second time,
 * in reference operations. Where a machine runs it, that is a miss or two and a misprediction; where software
 * translates code before it runs it (an emulator with a JIT, a binary translator), that takes tens of thousands.
 * NOW_NS: the clock. */
void xr_nature_tell(void);

#endif
