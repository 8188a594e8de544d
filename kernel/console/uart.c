/* See uart.h. Section numbers are those of the PC16550D data sheet (TL/C/8652).
 *
 * Interrupts only wake the processor; nothing depends on their arrival. Left out on
 * purpose: other I/O ports and rates, hardware flow control (three-wire cables are common). */
#include "kernel/console/uart.h"

#include "kernel/x86/cpu.h"
#include "kernel/seam/io.h"

#define BASE 0x3f8
#define IRQ  4

enum { DATA = BASE, IER, FCR, LCR, MCR, LSR, MSR, SCR }; /* table II */
enum { IIR = FCR, DIVISOR_LOW = DATA, DIVISOR_HIGH = IER };
enum { IER_RX = 1, IER_TX = 2 };
enum { FCR_ON = 7 };      /* FIFOs on and empty, trigger at one byte (8.4) */
enum { IIR_FIFO = 0xc0 }; /* FIFOs are on and usable (8.6) */
enum { LCR_8N1 = 3, LCR_DIVISOR = 0x80 };
enum { MCR_ON = 0x0b, MCR_LOOP = 0x1b }; /* DTR, RTS, OUT2 (gates the interrupt) */
enum { LSR_DATA = 1, LSR_BAD = 0x1c, LSR_THRE = 0x20 };

#define FIFO 16
/* Number of reads that take at least the time of a byte (87 us). A read takes about 1 us on
 * the bus, and about 0.1 us on a fast chip. */
#define WAIT_READS 20000u
/* Number of reads to wait for one byte of a panic report. A machine on a busy host needs
 * time, and the report is worth the wait. If the UART never becomes ready, this costs 0.2
 * to 2 s, once. */
#define PANIC_READS  2000000u
#define RECEIVE_SKIP 32 /* most bad bytes skipped in one call */

static bool present;
static unsigned fifo = 1;
static uint8_t armed; /* IER as last written */

static void line_init(void)
{
	io_out8(IER, 0);
	io_out8(LCR, LCR_DIVISOR);
	io_out8(DIVISOR_LOW, 1); /* 115200 (table III) */
	io_out8(DIVISOR_HIGH, 0);
	io_out8(LCR, LCR_8N1);
	io_out8(FCR, FCR_ON);
	io_out8(MCR, MCR_ON);
	armed = 0;
}

/* True when there is a UART: its scratch register keeps a value, and a byte comes back
 * through the loop-back of the modem control register (8.7). An unused port reads as 0xff. */
static bool probe(void)
{
	io_out8(SCR, 0x5a);
	io_out8(0x80, 0); /* puts another value on the bus */
	if (io_in8(SCR) != 0x5a)
		return false;
	line_init();
	io_out8(MCR, MCR_LOOP);
	for (unsigned i = 0; i < FIFO && io_in8(LSR) & LSR_DATA; i++)
		(void)io_in8(DATA);
	io_out8(DATA, 0xa5);
	for (unsigned i = 0; i < WAIT_READS && !(io_in8(LSR) & LSR_DATA); i++)
		;
	uint8_t back = io_in8(DATA);
	line_init();
	return back == 0xa5;
}

bool uart_init(void)
{
	present = probe();
	if (present && (io_in8(IIR) & IIR_FIFO) == IIR_FIFO)
		fifo = FIFO;
	return present;
}

bool uart_present(void)
{
	return present;
}

unsigned uart_send_room(void)
{
	return present && io_in8(LSR) & LSR_THRE ? fifo : 0;
}

void uart_send(uint8_t byte)
{
	io_out8(DATA, byte);
}

int uart_receive(void)
{
	for (unsigned i = 0; present && i < RECEIVE_SKIP; i++) {
		uint8_t status = io_in8(LSR);
		if (!(status & LSR_DATA))
			return -1;
		uint8_t byte = io_in8(DATA);
		if (!(status & LSR_BAD))
			return byte;
	}
	return -1;
}

void uart_arm(bool tx)
{
	uint8_t want = tx ? IER_RX | IER_TX : IER_RX;
	if (!present || (want == armed && !cpu_irq_fired(IRQ)))
		return;
	cpu_irq_unmask(IRQ);
	/* Disable and enable: the PIC only sees edges, so the line must rise again for an
	 * event that is pending already. */
	io_out8(IER, 0);
	io_out8(IER, want);
	armed = want;
}

bool uart_fired(void)
{
	return present && cpu_irq_fired(IRQ);
}

void uart_send_now(uint8_t byte)
{
	static bool ready, dead;
	if (dead)
		return;
	if (!ready && !present)
		line_init();
	ready = true;
	unsigned i = 0;
	while (i < PANIC_READS && !(io_in8(LSR) & LSR_THRE))
		i++;
	dead = i == PANIC_READS;
	io_out8(DATA, byte);
}
