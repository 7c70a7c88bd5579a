# SPDX-License-Identifier: MIT
# expect: reject memory_bounds 9
ldxw %r3, [%r1+28]
iter_over -8, 0
iter_next -8
jeq %r0, 0, out
ldxdw %r6, [%r0] # near: ldxb %r6, [%r0]
out:
iter_end -8
mov %r0, 0
exit
