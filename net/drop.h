/* The reasons of drop.def as an enum. */
#ifndef NET_DROP_H
#define NET_DROP_H

enum drop {
	DROP_NONE = 0,
#define DROP(name, label, text) DROP_##name,
#include "net/drop.def"
#undef DROP
	DROP_COUNT
};

#endif
