# SPDX-License-Identifier: MIT
# expect: accept
lddw map_value %r1, @bss, 8
ldxdw %r2, [%r1]
add %r2, 1
stxdw [%r1], %r2
mov %r0, 0
exit
