# SPDX-License-Identifier: MIT
# expect: reject not_pointer 2
lddw map %r1, @counts # near: lddw map_value %r1, @bss, 0
ldxdw %r0, [%r1]
exit
