# SPDX-License-Identifier: MIT
# expect: reject map_read_only 2
lddw map_value %r1, @rodata, 0 # near: lddw map_value %r1, @bss, 0
stdw [%r1], 1
mov %r0, 0
exit
