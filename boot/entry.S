/* The entry point: the headers of Multiboot 1 (0.6.96, section 3.1) and Multiboot 2 (2.0, section
 * 3.1), the check that the processor can run this image, the stack, and the call into C.
 *
 * State at entry (1: section 3.2; 2: section 3.3): EAX holds the magic number, EBX the address of
 * the information structure. Segments are flat, paging and interrupts are off. ESP, GDT and IDT
 * are undefined. Until the check has passed, the code uses only instructions of the 80386. */

	.set MAGIC, 0x1badb002
	.set FLAGS, 3                   /* modules on page boundaries; memory map */
	.set MAGIC2, 0xe85250d6
	.set I386, 0
	.set TAG_CONSOLE, 4
	.set TAG_FRAME, 5
	.set CONSOLE_TEXT, 2            /* text mode is supported */
	.set ID_FLAG, 1 << 21           /* EFLAGS: CPUID exists (SDM vol. 1, 3.4.3.3) */
	.set NEEDED, 1 << 4 | 1 << 15   /* CPUID.1:EDX: TSC, CMOV */
	.set COM1, 0x3f8
	.set SCREEN, 0xb8000

	.section .multiboot, "a", @progbits
	.balign 4
	.long MAGIC, FLAGS, -(MAGIC + FLAGS)

	/* With both tags GRUB sets up a frame buffer on a BIOS too, and without the second one it
	 * warns on UEFI that there is no console. So GRUB uses this header on UEFI alone. */
	.balign 8
header2:
	.long MAGIC2, I386, header2_end - header2, -(MAGIC2 + I386 + (header2_end - header2))
	.short TAG_CONSOLE, 0
	.long 12, CONSOLE_TEXT, 0       /* the last word is padding */
	.short TAG_FRAME, 0
	.long 20, 0, 0, 0, 0            /* any width, height and depth; padding */
	.short 0, 0
	.long 8
header2_end:

	.section .text.entry, "ax", @progbits
	.globl entry
	.type entry, @function
entry:
	cli
	cld
	movl $stack_top, %esp
	movl %eax, %esi
	movl %ebx, %edi

	pushfl
	popl %eax
	movl %eax, %ecx
	xorl $ID_FLAG, %eax
	pushl %eax
	popfl
	pushfl
	popl %eax
	xorl %ecx, %eax
	testl $ID_FLAG, %eax
	jz too_old
	movl $1, %eax
	cpuid
	andl $NEEDED, %edx
	cmpl $NEEDED, %edx
	jne too_old

	rdtsc
	movl %eax, clock_entry_tsc
	movl %edx, clock_entry_tsc + 4

	/* Loaders clear .bss. If a loader does not, strange errors would follow much later,
	 * so the code clears it once more. */
	movl %edi, %ebx
	movl $bss_start, %edi
	movl $bss_end, %ecx
	subl %edi, %ecx
	shrl $2, %ecx
	xorl %eax, %eax
	rep stosl

	pushl %ebx
	pushl %esi
	call main_start
hang:
	cli
	hlt
	jmp hang

	/* Prints the reason on the screen and on COM1 (115200 8N1), and stops. */
too_old:
	movw $COM1 + 3, %dx
	movb $0x80, %al                 /* LCR: divisor latch */
	outb %al, %dx
	movw $COM1, %dx
	movb $1, %al
	outb %al, %dx
	incw %dx
	movb $0, %al
	outb %al, %dx
	movw $COM1 + 3, %dx
	movb $3, %al                    /* LCR: 8N1 */
	outb %al, %dx
	movl $too_old_text, %esi
	movl $SCREEN, %edi
1:	lodsb
	testb %al, %al
	jz hang
	cmpb $' ', %al
	jb 2f
	movb $0x4f, %ah                 /* white on red */
	movw %ax, (%edi)
	addl $2, %edi
2:	movb %al, %bl
	movl $100000, %ecx              /* a UART that never becomes ready does not exist */
	movw $COM1 + 5, %dx
3:	inb %dx, %al
	testb $0x20, %al                /* LSR: transmitter empty */
	jnz 4f
	decl %ecx
	jnz 3b
4:	movw $COM1, %dx
	movb %bl, %al
	outb %al, %dx
	jmp 1b

	.section .rodata.entry, "a", @progbits
too_old_text:
	.asciz "baregate: this processor is too old: TSC and CMOV are needed (Pentium Pro or later)\r\n"

	/* The time-stamp counter at the entry point; written before .bss is cleared. */
	.section .data.entry, "aw", @progbits
	.globl clock_entry_tsc
	.balign 8
clock_entry_tsc:
	.quad 0

	.section .note.GNU-stack, "", @progbits
