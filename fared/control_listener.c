/* SPDX-License-Identifier: BSD-2-Clause */
#include "control_listener.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "privileges.h"

#define MODE	   0660
#define MAX_GROUPS 1024

/*
 * Bound under a name of its own with its final mode, then renamed: no moment at which others could
 * connect. By umask, as chmod() would follow a link that the owner of the directory puts there.
 * Without a group for it, it is its owner's alone.
 */
static int listen_at(const struct control_listener *listener, uid_t uid, gid_t gid)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	mode_t mask, mode = gid == (gid_t)-1 ? MODE & ~S_IRWXG : MODE;
	int rc;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", listener->path);
	at.sun_path[strlen(at.sun_path) - 1] = '_'; /* control.soc_ */
	unlink(at.sun_path);
	mask = umask(0777 & ~mode);
	rc = bind(listener->fd, (struct sockaddr *)&at, sizeof(at)) ? -errno : 0;
	umask(mask);
	if (!rc)
		rc = privileges_give(at.sun_path, uid, gid);
	if (!rc && listen(listener->fd, 64))
		rc = -errno;
	if (!rc && rename(at.sun_path, listener->path))
		rc = -errno;
	return rc;
}

int control_listener_open(struct control_listener *listener, const char *run_dir, const char *name,
			  uid_t uid, gid_t gid)
{
	int rc = snprintf(listener->path, sizeof(listener->path), "%s/%s", run_dir, name);

	if (rc < 0 || (size_t)rc >= sizeof(listener->path))
		return -ENAMETOOLONG;
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return -errno;
	rc = listen_at(listener, uid, gid);
	if (rc)
		close(listener->fd);
	return rc;
}

void control_listener_close(struct control_listener *listener)
{
	close(listener->fd);
	unlink(listener->path);
}

static bool in_group(int fd, const struct ucred *who, gid_t gid)
{
	gid_t groups[MAX_GROUPS];
	socklen_t length = sizeof(groups);

	if (gid == (gid_t)-1)
		return false;
	if (who->gid == gid)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length))
		return false;
	for (size_t i = 0; i < length / sizeof(gid_t); i++)
		if (groups[i] == gid)
			return true;
	return false;
}

bool control_listener_admit(int fd, const struct control_groups *groups, struct control_client *who)
{
	struct ucred cred;
	socklen_t length = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &length))
		return false;
	*who = (struct control_client){.uid = cred.uid, .pid = cred.pid, .attached = -1};
	if (cred.uid == 0 || cred.uid == geteuid() || in_group(fd, &cred, groups->operate))
		who->role = CONTROL_OPERATOR;
	else if (in_group(fd, &cred, groups->attach))
		who->role = CONTROL_APPLICATION;
	else
		return in_group(fd, &cred, groups->read);
	return true;
}
