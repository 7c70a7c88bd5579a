# SPDX-License-Identifier: MIT
# expect: reject map_bounds 2
lddw map_value %r1, @bss, 60 # near: lddw map_value %r1, @bss, 56
ldxdw %r2, [%r1]
mov %r0, 0
exit
