# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 7
# The same bytes are a key.
# near: stdw [%r10-8], 0
ldxw %r2, [%r1+24]
jeq %r2, 0, join
stw [%r10-4], 1
join:
look @counts
mov %r0, 0
exit
