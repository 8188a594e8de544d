/* Stubs of the interrupt descriptor table (Intel SDM vol. 3, chapter 6), and the two 8259A
 * interrupt controllers.
 *
 * An interrupt only wakes the processor: its stub masks the line, acknowledges it (specific
 * end of interrupt, 8259A data sheet, OCW2) and returns. Polling finds the work. So the
 * stubs use few registers and call no C. The timer is not masked: its stub counts ticks,
 * and ends a machine that makes no progress. */

	.set PIC1, 0x20
	.set PIC2, 0xa0
	.set EOI, 0x60          /* specific end of interrupt; add the line */
	.set PORT_B, 0x61       /* system control port B */
	.set READ_ISR, 0x0b     /* OCW3: the next read gives the in-service register */

	.text

/* Exceptions: the stack has one layout, with or without an error code from the processor. */
	.macro EXCEPTION n, error=0
	.type trap_\n, @function
trap_\n:
	.if !\error
	pushl $0
	.endif
	pushl $\n
	jmp trap_common
	.endm

	.type trap_common, @function
trap_common:
	pushal
	cld
	movl %esp, %eax
	pushl %eax
	call panic_trap         /* does not return */

/* The non-maskable interrupt: port 0x61 shows a memory parity error (bit 7) or a channel
 * check (bit 6). Without either it has no reason that is known here (a
 * button on the front panel, say): it is only counted. */
	.type trap_2, @function
trap_2:
	pushl %eax
	inb $PORT_B, %al
	testb $0xc0, %al
	popl %eax
	jnz 1f
	incl trap_nmis
	iretl
1:	pushl $0
	pushl $2
	jmp trap_common

	.irp n, 0, 1, 3, 4, 5, 6, 7, 9, 15, 16, 18, 19, 20, 22, 23, 24, 25, 26, 27, 28, 31
	EXCEPTION \n
	.endr
	.irp n, 8, 10, 11, 12, 13, 14, 17, 21, 29, 30
	EXCEPTION \n, 1
	.endr

/* IRQ 0: the tick. */
	.type trap_timer, @function
trap_timer:
	pushl %eax
	movl trap_interval, %eax
	incl trap_ticks
	addl %eax, trap_passed
	addl %eax, trap_stalled
	movb $EOI, %al
	outb %al, $PIC1
	movl trap_stalled, %eax
	cmpl trap_stalled_max, %eax
	popl %eax
	ja 1f
	iretl
1:	pushl $0
	pushl $32
	jmp trap_common

	.macro MASTER n
	.type trap_irq\n, @function
trap_irq\n:
	pushl %eax
	movb trap_masked, %al
	orb $1 << \n, %al
	movb %al, trap_masked
	outb %al, $PIC1 + 1
	movb $EOI + \n, %al
	outb %al, $PIC1
	popl %eax
	iretl
	.endm

	.macro SLAVE n
	.type trap_irq\n, @function
trap_irq\n:
	pushl %eax
	movb trap_masked + 1, %al
	orb $1 << (\n - 8), %al
	movb %al, trap_masked + 1
	outb %al, $PIC2 + 1
	movb $EOI + \n - 8, %al
	outb %al, $PIC2
	movb $EOI + 2, %al
	outb %al, $PIC1
	popl %eax
	iretl
	.endm

	.irp n, 1, 2, 3, 4, 5, 6
	MASTER \n
	.endr
	.irp n, 8, 9, 10, 11, 12, 13, 14
	SLAVE \n
	.endr

/* A PIC reports line 7 or 15 also when a request ended before the processor took it. Then
 * the line's in-service bit is clear, and the stub must not acknowledge it (8259A data
 * sheet, "Edge and level triggered modes"). The master takes a spurious line 15 for a real
 * request of the slave, so that one needs an acknowledgement. */
	.type trap_irq7, @function
trap_irq7:
	pushl %eax
	movb $READ_ISR, %al
	outb %al, $PIC1
	inb $PIC1, %al
	testb $0x80, %al
	jz 1f
	movb trap_masked, %al
	orb $0x80, %al
	movb %al, trap_masked
	outb %al, $PIC1 + 1
	movb $EOI + 7, %al
	outb %al, $PIC1
1:	popl %eax
	iretl

	.type trap_irq15, @function
trap_irq15:
	pushl %eax
	movb $READ_ISR, %al
	outb %al, $PIC2
	inb $PIC2, %al
	testb $0x80, %al
	jz 1f
	movb trap_masked + 1, %al
	orb $0x80, %al
	movb %al, trap_masked + 1
	outb %al, $PIC2 + 1
	movb $EOI + 7, %al
	outb %al, $PIC2
1:	movb $EOI + 2, %al
	outb %al, $PIC1
	popl %eax
	iretl

	.section .rodata.trap, "a", @progbits
	.globl trap_stub
	.balign 4
trap_stub:
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	.long trap_\n
	.endr
	.irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	.long trap_\n
	.endr
	.long trap_timer
	.irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	.long trap_irq\n
	.endr

	.section .data.trap, "aw", @progbits
	.globl trap_masked, trap_ticks, trap_interval, trap_passed, trap_nmis
	.globl trap_stalled, trap_stalled_max
	.balign 4
trap_ticks:
	.long 0
trap_interval:
	.long 0
trap_passed:
	.long 0
trap_nmis:
	.long 0
trap_stalled:
	.long 0
trap_stalled_max:
	.long 0xffffffff
trap_masked:
	.byte 0xff, 0xff

	.section .note.GNU-stack, "", @progbits
