# SPDX-License-Identifier: MIT
# expect: reject local_control 4
# flow: branch
lddw map_value %r6, @bss, 0
add %r6, -8 # near: add %r6, 8
jeq %r6, 0, +1
stw [%r1+68], 1
mov %r0, 0
exit
