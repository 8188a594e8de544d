/* The class of USB sticks, card readers and disks: interface class 8, subclass 6 (SCSI), protocol
 * 0x50 (bulk only). */
#ifndef DRIVERS_USB_STORAGE_STORAGE_H
#define DRIVERS_USB_STORAGE_STORAGE_H

#include "drivers/usb/usb.h"

#define STORAGE_DEVICES 4u /* at once */

extern const struct usb_class storage_class;

#endif
