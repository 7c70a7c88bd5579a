# SPDX-License-Identifier: MIT
# what is given back is the start of a reservation, not a place inside it
# expect: reject release_moved 9
reserve 16
jeq %r0, 0, out
mov %r1, %r0
add %r1, 1 # near: add %r1, 0
mov %r2, 0
call 132
