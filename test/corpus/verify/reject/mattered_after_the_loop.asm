# SPDX-License-Identifier: MIT
# expect: reject pointer_range 6
# A number counted in a loop that only the budget ends is used behind it.
mov %r3, 4
l:
may_goto done
add %r3, 60 # near: add %r3, 0
ja l
done:
read_at @bss, 0, %r3
mov %r0, 0
exit
