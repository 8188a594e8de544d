/* The drivers of controllers and the classes of devices that usb_list.c names. */
#ifndef DRIVERS_USB_USB_LIST_H
#define DRIVERS_USB_USB_LIST_H

#include "drivers/usb/usb_hcd.h"

extern const struct usb_driver xhci_driver;
extern const struct usb_driver ehci_driver;
extern const struct usb_driver ohci_driver;
extern const struct usb_driver uhci_driver;

extern const struct usb_class usb_hub_class;

#endif
