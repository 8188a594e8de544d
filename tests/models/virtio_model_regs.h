/* Numbers of the virtio 1.1 specification as the model reads it; kept apart
 * from the driver's header, so that a wrong number there shows. */
#ifndef TESTS_MODELS_VIRTIO_MODEL_REGS_H
#define TESTS_MODELS_VIRTIO_MODEL_REGS_H

/* 2.1 device status */
enum { ST_ACK = 1, ST_DRIVER = 2, ST_DRIVER_OK = 4, ST_FEATURES_OK = 8 };
enum { ST_NEEDS_RESET = 64, ST_FAILED = 128 };

/* 5.1.3, 6, and 6.3 (legacy) feature bits */
enum { F_CSUM = 0, F_MTU = 3, F_MAC = 5, F_MRG_RXBUF = 15, F_STATUS = 16, F_CTRL_VQ = 17 };
enum { F_GUEST_CSUM = 1, F_GUEST_TSO4 = 7, F_GUEST_TSO6 = 8, F_GUEST_ECN = 9 };
enum { F_HOST_TSO4 = 11, F_HOST_TSO6 = 12, F_HOST_ECN = 13 };
enum { F_GUEST_USO4 = 54, F_GUEST_USO6 = 55, F_HOST_USO = 56 }; /* 1.3 */
enum { F_ANY_LAYOUT = 27, F_INDIRECT = 28, F_EVENT_IDX = 29, F_VERSION_1 = 32 };
enum { F_ACCESS_PLATFORM = 33, F_PACKED = 34, F_ORDER_PLATFORM = 36 };
#define F(n) (1ull << (n))

/* 2.6.5, 2.6.6, 2.6.8 */
enum { D_NEXT = 1, D_WRITE = 2, D_INDIRECT = 4 };
enum { AVAIL_NO_INTERRUPT = 1, USED_NO_NOTIFY = 1 };

/* 5.1.6: flags and types of the header */
enum { H_NEEDS_CSUM = 1, H_DATA_VALID = 2 };
enum { H_NONE = 0, H_TCP4 = 1, H_UDP = 3, H_TCP6 = 4, H_UDP_L4 = 5, H_ECN = 0x80 };

/* 4.1.4.5 */
enum { ISR_QUEUE = 1, ISR_CONFIG = 2 };

/* 4.1.4.3 */
enum {
	C_DEVICE_SELECT = 0,
	C_DEVICE_FEATURE = 4,
	C_DRIVER_SELECT = 8,
	C_DRIVER_FEATURE = 12,
	C_MSIX_CONFIG = 16,
	C_NUM_QUEUES = 18,
	C_STATUS = 20,
	C_GENERATION = 21,
	C_QUEUE_SELECT = 22,
	C_QUEUE_SIZE = 24,
	C_QUEUE_MSIX = 26,
	C_QUEUE_ENABLE = 28,
	C_NOTIFY_OFF = 30,
	C_DESC = 32,
	C_DRIVER_RING = 40,
	C_DEVICE_RING = 48,
	C_END = 56,
};

/* 4.1.4.8 */
enum {
	L_DEVICE_FEATURE = 0,
	L_DRIVER_FEATURE = 4,
	L_QUEUE_PFN = 8,
	L_QUEUE_SIZE = 12,
	L_QUEUE_SELECT = 14,
	L_NOTIFY = 16,
	L_STATUS = 18,
	L_ISR = 19,
	L_CONFIG = 20,      /* without MSI-X */
	L_CONFIG_MSIX = 24, /* with */
};

#endif
