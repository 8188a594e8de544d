/* Symbols of the linker script (boot/gateway.ld). Only their addresses have a meaning. */
#ifndef KERNEL_X86_IMAGE_H
#define KERNEL_X86_IMAGE_H

#include "kernel/lib/bytes.h"

extern uint8_t image_start[], image_text_end[], image_rodata_end[], image_end[];
extern uint8_t stack_guard[], stack_bottom[], stack_top[];
extern uint8_t fault_stack_bottom[], fault_stack_top[];

#endif
