/* SPDX-License-Identifier: MIT */
/* ATmega328P at 16 MHz, bare: the hooks of X-Ray's agent for boards.
 *
 * Counter: timer 1 counts cycles, 16 bits of them; timer 0 counts every 1024th and tells how often timer 1 has begun
 * anew, without an interrupt. Together 18 bits (-DXR_TICK_BITS=18).
 * Console: the first serial port.
 */
#include "bare.h"

#include <avr/io.h>

void xr_board_init(void)
{
	UBRR0 = 0;
	UCSR0B = _BV(TXEN0);
	UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
	TCNT0 = 0;
	TCNT1 = 0;
	TCCR0B = _BV(CS02) | _BV(CS00);
	TCCR1B = _BV(CS10);
}

unsigned long xr_board_ticks(void)
{
	unsigned fine = TCNT1;
	unsigned long coarse = (unsigned long)TCNT0 << 10;
	unsigned long turns = (coarse - fine + 0x8000ul) >> 16;
	return ((turns & 3) << 16) + fine;
}

void xr_board_put(int c)
{
	while (!(UCSR0A & _BV(UDRE0)))
		;
	UDR0 = (unsigned char)c;
}
