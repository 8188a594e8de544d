/* NE2000 cards for PCI: reset, address, filter, the card's memory. Sections: see ne2k_reg.h.
 *
 * Left out on purpose: access by 32 bits (not all of these chips have it), full duplex (it is set
 * in the EEPROM), the choice of the connector. */
#include "drivers/net/ne2k/ne2k.h"

#include "drivers/net/wire.h"

#define IDLE (CMD_DMA_NONE | CMD_START)

bool ne2k_hw_reset(const struct ne2k *c)
{
	if (ne_get(c, NE_CMD) == NE_GONE)
		return false;
	ne_put(c, NE_CMD, CMD_DMA_NONE | CMD_STOP);
	ne_put(c, NE_IMR, 0);
	ne_put(c, NE_RESET, ne_get(c, NE_RESET));
	for (unsigned i = 0; i < 100 && !(ne_get(c, NE_ISR) & ISR_RESET); i++)
		io_delay_us(100);
	if (!(ne_get(c, NE_ISR) & ISR_RESET))
		return false;
	ne_put(c, NE_CMD, CMD_DMA_NONE | CMD_STOP);
	io_delay_us(OVERFLOW_US); /* a frame in the middle ends */
	ne_put(c, NE_DCR, DCR_WORDS);
	ne_put16(c, NE_RBCR, 0);
	ne_put(c, NE_IMR, 0);
	ne_put(c, NE_ISR, 0xff);
	return ne_get(c, NE_CMD) == (CMD_DMA_NONE | CMD_STOP);
}

static void remote(const struct ne2k *c, uint32_t at, uint32_t n, uint32_t way)
{
	ne_put(c, NE_CMD, IDLE);
	ne_put16(c, NE_RBCR, n);
	ne_put16(c, NE_RSAR, at);
	ne_put(c, NE_CMD, way | CMD_START);
}

void ne2k_hw_read(const struct ne2k *c, uint32_t from, uint8_t *to, uint32_t n)
{
	uint16_t port = (uint16_t)(c->ports + NE_DATA);
	remote(c, from, (n + 1) & ~1u, CMD_DMA_READ);
	for (; n > 1; n -= 2, to += 2)
		store16(to, io_in16(port));
	if (n)
		*to = (uint8_t)io_in16(port);
	ne_put(c, NE_ISR, ISR_DMA);
}

bool ne2k_hw_write(const struct ne2k *c, uint32_t to, const uint8_t *from, uint32_t n)
{
	uint16_t port = (uint16_t)(c->ports + NE_DATA);
	remote(c, to, (n + 1) & ~1u, CMD_DMA_OUT);
	for (; n > 1; n -= 2, from += 2)
		io_out16(port, load16(from));
	if (n)
		io_out16(port, *from);
	bool done = false;
	for (unsigned i = 0; i < 20 && !done; i++) /* each read takes a microsecond */
		done = ne_get(c, NE_ISR) & ISR_DMA;
	ne_put(c, NE_ISR, ISR_DMA);
	return done;
}

bool ne2k_hw_address(struct ne2k *c)
{
	uint8_t prom[12];
	/* Each byte is there twice. */
	ne2k_hw_read(c, 0, prom, sizeof prom);
	for (unsigned i = 0; i < 6; i++)
		c->nic.address.b[i] = prom[2 * i];
	ne_put(c, NE_CMD, CMD_DMA_NONE | CMD_STOP);
	return wire_station(&c->nic.address);
}

void ne2k_hw_mask(const struct ne2k *c)
{
	ne_put(c, NE_IMR, ISR_RX | ISR_FULL | (c->tx_wake ? ISR_TX | ISR_TX_BAD : 0));
}

/* RCR_ALL is for the addresses of stations alone (10.3, PRO). */
void ne2k_hw_filter(const struct ne2k *c)
{
	uint32_t state = ne_get(c, NE_CMD) & (CMD_STOP | CMD_START);
	ne_put(c, NE_CMD, CMD_PAGE1 | CMD_DMA_NONE | state);
	for (uint16_t i = 0; i < 8; i++)
		ne_put(c, NE_MAR + i, c->promiscuous ? 0xff : c->hash[i]);
	ne_put(c, NE_CMD, CMD_DMA_NONE | state);
	ne_put(c, NE_RCR, RCR_BROAD | RCR_GROUPS | (c->promiscuous ? RCR_ALL : 0));
}

void ne2k_hw_start(const struct ne2k *c)
{
	ne_put(c, NE_RCR, RCR_MONITOR);
	ne_put(c, NE_TCR, TCR_LOOP);
	ne_put(c, NE_PSTART, RX_FIRST);
	ne_put(c, NE_PSTOP, RX_END);
	ne_put(c, NE_BNRY, RX_FIRST);
	ne_put(c, NE_CMD, CMD_PAGE1 | CMD_DMA_NONE | CMD_STOP);
	for (uint16_t i = 0; i < 6; i++)
		ne_put(c, NE_PAR + i, c->nic.address.b[i]);
	ne_put(c, NE_CURR, RX_FIRST + 1);
	ne_put(c, NE_CMD, CMD_DMA_NONE | CMD_STOP);
	ne2k_hw_filter(c);
	ne_put(c, NE_ISR, 0xff);
	ne2k_hw_mask(c);
	ne_put(c, NE_CMD, IDLE);
	ne_put(c, NE_TCR, 0);
}

uint8_t ne2k_hw_current(const struct ne2k *c)
{
	ne_put(c, NE_CMD, CMD_PAGE1 | IDLE);
	uint8_t at = ne_get(c, NE_CURR);
	ne_put(c, NE_CMD, IDLE);
	return at;
}

void ne2k_hw_free(const struct ne2k *c, uint8_t next)
{
	ne_put(c, NE_BNRY, next == RX_FIRST ? RX_END - 1 : next - 1u);
}

void ne2k_hw_send(const struct ne2k *c, uint32_t slot, uint32_t n)
{
	ne_put(c, NE_CMD, IDLE);
	ne_put(c, NE_TPSR, PAGE_FIRST + slot * TX_PAGES);
	ne_put16(c, NE_TBCR, n);
	ne_put(c, NE_CMD, IDLE | CMD_SEND);
}

void ne2k_hw_report(struct nic *nic, struct nic_report *r)
{
	const struct ne2k *c = (const struct ne2k *)nic;
	nic_report_add(r, "cmd", ne_get(c, NE_CMD));
	nic_report_add(r, "isr", ne_get(c, NE_ISR));
	nic_report_add(r, "bnry", ne_get(c, NE_BNRY));
	nic_report_add(r, "next", c->next);
}
