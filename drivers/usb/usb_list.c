/* See usb_list.h. A new driver adds a line here and one there; a new class includes its header. */
#include "drivers/usb/usb_list.h"

#include "drivers/usb/hid/hid_keyboard.h"
#include "drivers/usb/storage/storage.h"

/* Their order is that of the probes: EHCI before the companions that share its ports. */
const struct usb_driver *const usb_drivers[] = {
        &xhci_driver,
        &ehci_driver,
        &ohci_driver,
        &uhci_driver,
};
const uint32_t n_usb_drivers = ARRAY_SIZE(usb_drivers);

/* Their order is that in which an interface is offered. */
const struct usb_class *const usb_classes[] = {
        &usb_hub_class,
        &hid_keyboard_class,
        &storage_class,
};
const uint32_t n_usb_classes = ARRAY_SIZE(usb_classes);
