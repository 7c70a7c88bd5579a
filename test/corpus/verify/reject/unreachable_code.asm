# SPDX-License-Identifier: MIT
# golden
# expect: reject unreachable 2
mov %r0, 0
exit # near:
mov %r0, 1
exit
