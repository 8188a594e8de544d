/* Bits of the registers and structures of the OHCI model. */
#ifndef TESTS_MODELS_OHCI_MODEL_REGS_H
#define TESTS_MODELS_OHCI_MODEL_REGS_H

enum {
	HCFS = 0xc0,
	OPERATIONAL = 0x80,
	PLE = 4,
	CLE = 0x10,
	BLE = 0x20,
	IR = 0x100,
	RWC = 0x200,
	CLF = 2,
	BLF = 4,
	WDH = 2,
	UE = 0x10,
	OC = 0x40000000,
	PORT = 0x54,
	CCS = 1,
	PES = 2,
	PRS = 0x10,
	PPS = 0x100,
	LSDA = 0x200,
	CSC = 0x10000,
	PRSC = 0x100000,
};

#endif
