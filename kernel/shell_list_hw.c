/* `hw`: what a report of something that does not work needs: the processor, the loader, ACPI, every
 * PCI device with its registers, every card with those of its PHY. Nothing is changed. */
#include "kernel/shell_list.h"

#include "kernel/board/acpi_tables.h"
#include "kernel/rcv.h"
#include "kernel/x86/boot.h"
#include "kernel/x86/cpuid.h"

/* The cursor's upper half is the part that is being written, the lower half its place there. */
enum part { MACHINE, PCI, CARDS };
enum { BARS = 6, BAR0 = 0x10, HEADER_TYPE = 0x0e, ACPI_REVISION = 8 };

static uint32_t place(const struct shell_list *l)
{
	return (uint32_t)l->cursor;
}

static void next_part(struct shell_list *l)
{
	l->cursor = ((l->cursor >> 32) + 1) << 32;
}

static void machine(struct shell_list *l, char *buf, size_t size)
{
	const struct cpuid_features *cpu = cpuid_features();
	uint32_t id[4] = {0};
	struct acpi_table fadt;
	switch (l->cursor++) {
	case 0:
		(void)cpuid_leaf(1, id);
		fmt(buf, size, "cpu %s id=%08x features=%08x,%08x", cpu->name, id[0], id[3], id[2]);
		break;
	case 1:
		fmt(buf, size, "loader %s", boot_get()->loader);
		break;
	default:
		fadt = acpi_tables_fadt();
		if (fadt.p)
			fmt(buf, size, "acpi revision=%u timer=%04x", fadt.p[ACPI_REVISION],
			    acpi_tables_timer());
		else
			fmt(buf, size, "acpi none");
		next_part(l);
	}
}

static void pci_line(const struct pci_dev *d, char *buf, size_t size)
{
	size_t n =
	        fmt(buf, size, "pci %02x:%02x.%x %04x:%04x %04x:%04x class=%02x%02x%02x rev=%02x",
	            d->bus, d->dev, d->fn, d->vendor, d->device, d->subvendor, d->subdevice,
	            d->class_code, d->subclass, d->prog_if, d->revision);
	n += fmt(buf + n, size - n, " irq=%u command=%04x status=%04x", d->irq, pci_read16(d, 4),
	         pci_read16(d, 6));
	bool bridge = pci_read8(d, HEADER_TYPE) & 0x7f;
	for (uint8_t i = 0; i < BARS && !bridge; i++) {
		uint32_t bar = pci_read32(d, (uint8_t)(BAR0 + 4 * i));
		if (bar)
			n += fmt(buf + n, size - n, " bar%u=%08x", i, bar);
	}
}

static bool pci(struct shell_list *l, char *buf, size_t size)
{
	uint32_t cursor = place(l);
	struct pci_dev d;
	if (!pci_next(&cursor, &d))
		return false;
	l->cursor = (uint64_t)PCI << 32 | cursor;
	pci_line(&d, buf, size);
	return true;
}

static bool card(struct shell_list *l, char *buf, size_t size)
{
	uint32_t i = place(l);
	if (i >= l->gw->n_iface)
		return false;
	l->cursor++;
	const struct nic *nic = l->gw->iface[i].card == i ? rcv_nic(i) : NULL;
	if (!nic)
		return true;
	struct nic_report r = {0};
	char hw[FMT_MAC];
	size_t n = fmt(buf, size, "card %s %s pci %02x:%02x.%x %s link=%s", l->gw->iface[i].name,
	               nic->driver, nic->pci.bus, nic->pci.dev, nic->pci.fn,
	               fmt_mac(hw, &nic->address), nic->carrier.up ? "up" : "down");
	rcv_report(i, &r);
	for (uint32_t k = 0; k < r.n; k++)
		n += fmt(buf + n, size - n, " %s=%x", r.word[k].name, r.word[k].value);
	return true;
}

enum shell_step shell_list_hw(struct shell_list *l, char *buf, size_t size)
{
	for (;;) {
		bool line = true;
		switch ((enum part)(l->cursor >> 32)) {
		case MACHINE:
			machine(l, buf, size);
			break;
		case PCI:
			line = pci(l, buf, size);
			break;
		case CARDS:
			line = card(l, buf, size);
			break;
		default:
			return SHELL_END;
		}
		if (line)
			return SHELL_LINE;
		next_part(l);
	}
}
