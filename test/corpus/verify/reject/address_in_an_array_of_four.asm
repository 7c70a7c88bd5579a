# SPDX-License-Identifier: MIT
# An array of several elements has no one value to take an address in.
# expect: reject encoding 0
lddw map_value %r1, @counts, 0 # near: lddw map_value %r1, @bss, 0
ldxw %r0, [%r1]
mov %r0, 0
exit
