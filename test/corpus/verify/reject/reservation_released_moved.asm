# SPDX-License-Identifier: MIT
# golden
# expect: reject release_moved 9
reserve 16
jeq %r0, 0, out
mov %r1, %r0
add %r1, 8
# near: stdw [%r1], 1
# near: add %r1, -8
mov %r2, 0
call 132
