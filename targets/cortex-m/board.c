/* SPDX-License-Identifier: MIT */
/* Cortex-M3 without an OS (QEMU's mps2-an385): the hooks of X-Ray's agent for boards.
 *
 * Counter: SysTick, 24 bits, at the core's 25 MHz (-DXR_TICK_BITS=24). Console: semihosting, a character at a time; on a
 * true board write to a serial port instead.
 */
#include "bare.h"

#define SYST_CSR (*(volatile unsigned long *)0xe000e010)
#define SYST_RVR (*(volatile unsigned long *)0xe000e014)
#define SYST_CVR (*(volatile unsigned long *)0xe000e018)

extern unsigned long stack_top[], data_start[], data_end[], data_load[], bss_start[], bss_end[];
int main(void);

static void reset(void)
{
	unsigned long *from = data_load, *to;
	for (to = data_start; to < data_end;)
		*to++ = *from++;
	for (to = bss_start; to < bss_end;)
		*to++ = 0;
	main();
	for (;;)
		;
}

static void hang(void)
{
	for (;;)
		;
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
	(void (*)(void))stack_top, reset, hang, hang, hang, hang, hang,
};

void xr_board_init(void)
{
	SYST_RVR = 0xffffff;
	SYST_CVR = 0;
	SYST_CSR = 5;
}

unsigned long xr_board_ticks(void)
{
	return 0xffffff - SYST_CVR;
}

void xr_board_put(int c)
{
	char character = (char)c;
	register unsigned long call __asm__("r0") = 3; /* SYS_WRITEC */
	register char *where __asm__("r1") = &character;
	__asm__ volatile("bkpt 0xab" : "+r"(call) : "r"(where) : "memory");
}
