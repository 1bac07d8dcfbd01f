#!/bin/busybox sh
# The first process of the virtual machine. It makes this machine's files visible, read-only and with room in memory for what
# is written over them, mounts control groups of version 2 alone, runs the script in /out among those files, and ends the machine.
/bin/busybox mkdir -p /proc /dev /host /room /root
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
for module in $(cat /modules/order); do insmod "/modules/$module" || echo "guest: $module cannot be loaded"; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /host || poweroff -f
mount -t tmpfs tmpfs /room && mkdir /room/upper /room/overlay
mount -t overlay -o lowerdir=/host,upperdir=/room/upper,workdir=/room/overlay overlay /root || poweroff -f
mkdir -p /root/out
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 out /root/out || poweroff -f
mount -t proc proc /root/proc
mount -t sysfs sys /root/sys
mount -t devtmpfs dev /root/dev
mount -t cgroup2 none /root/sys/fs/cgroup
ip link set lo up
chroot /root /bin/sh /out/guest.sh
echo "guest: over"
poweroff -f
