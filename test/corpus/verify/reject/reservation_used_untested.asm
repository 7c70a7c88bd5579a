# SPDX-License-Identifier: MIT
# expect: reject nullable 5
reserve 16
# near: jeq %r0, 0, out
stdw [%r0], 1
submit %r0
# near: out:
mov %r0, 0
exit
