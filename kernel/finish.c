/* See finish.h. */
#include "kernel/finish.h"

#include "kernel/console/console.h"
#include "kernel/x86/cpu.h"
#include "kernel/x86/power.h"

void finish_off(void)
{
	power_off();
	console_print("\nstopped; please switch off\n");
	console_flush();
	cpu_stop();
}
