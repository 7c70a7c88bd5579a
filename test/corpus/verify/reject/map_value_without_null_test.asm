# SPDX-License-Identifier: MIT
# expect: reject nullable 6
lookup @counts, 4
# near: jeq %r0, 0, out
ldxdw %r1, [%r0]
# near: out:
mov %r0, 0
exit
