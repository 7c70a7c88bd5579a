# SPDX-License-Identifier: MIT
# expect: reject read_only 9
ldxw %r3, [%r1+28]
iter_over -8, 0
iter_next -8
jeq %r0, 0, out
stw [%r0], 1 # near: ldxw %r6, [%r0]
out:
iter_end -8
mov %r0, 0
exit
