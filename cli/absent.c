/* SPDX-License-Identifier: MIT */
/* What a static program must do without (make STATIC=1 only).
 *
 * hwloc asks udev for the names of disks and loads plugins with dlopen(). Debian has no static libudev, and a static
 * program that loads whatever plugins the machine at hand has, made for another libc, crashes. Neither matters to
 * caches and CPUs. hwloc copes with both being absent, so absent they are, in the words each library has for it.
 */
#include <stddef.h>

struct udev;
struct udev_device;

struct udev *udev_new(void);
struct udev *udev_unref(struct udev *udev);
struct udev_device *udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem, const char *name);
struct udev_device *udev_device_unref(struct udev_device *device);
const char *udev_device_get_property_value(struct udev_device *device, const char *key);
void *__wrap_dlopen(const char *file, int mode); /* the linker sends calls of dlopen() here: --wrap */

struct udev *udev_new(void)
{
	return NULL;
}

struct udev *udev_unref(struct udev *udev)
{
	(void)udev;
	return NULL;
}

struct udev_device *udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem, const char *name)
{
	(void)udev;
	(void)subsystem;
	(void)name;
	return NULL;
}

struct udev_device *udev_device_unref(struct udev_device *device)
{
	(void)device;
	return NULL;
}

const char *udev_device_get_property_value(struct udev_device *device, const char *key)
{
	(void)device;
	(void)key;
	return NULL;
}

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}
