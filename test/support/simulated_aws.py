"""The aws command line, kept in memory, since its start takes longer than all of its work: listens on a port of loopback, which it
prints. Each connection names a folder with `env` and `args`, separated by NUL, and gets the exit code; `out` and `err` are then there.

Beside aws, `foreign` adds what others may have in an account, and `list` prints all that costs money or could be ours, as "kind id tag",
where tag is the value of the tag redline."""

import os
import socketserver
import sys

import boto3
from awscli.clidriver import create_clidriver


def foreign():
    ec2, rds = boto3.client('ec2'), boto3.client('rds')
    tagged = [{'Key': 'redline', 'Value': 'other'}]
    machine = {'ImageId': 'ami-12c6146b', 'InstanceType': 't3.micro', 'MinCount': 1, 'MaxCount': 1}
    database = {'Engine': 'postgres', 'DBInstanceClass': 'db.t3.micro', 'AllocatedStorage': 20}
    database.update({'MasterUsername': 'owner', 'MasterUserPassword': 'not-a-secret'})
    ec2.run_instances(**machine)
    ec2.run_instances(**machine, TagSpecifications=[{'ResourceType': 'instance', 'Tags': tagged}])
    ec2.create_security_group(GroupName='foreign', Description='none')
    ec2.create_key_pair(KeyName='foreign', TagSpecifications=[{'ResourceType': 'key-pair', 'Tags': tagged}])
    ec2.allocate_address()
    rds.create_db_instance(DBInstanceIdentifier='foreign', Tags=tagged, **database)
    rds.create_db_instance(DBInstanceIdentifier='untagged', **database)


def rows():
    ec2, rds = boto3.client('ec2'), boto3.client('rds')
    for reservation in ec2.describe_instances()['Reservations']:
        for machine in reservation['Instances']:
            if machine['State']['Name'] not in ('terminated', 'shutting-down'):
                yield 'machine', machine['InstanceId'], machine
    for volume in ec2.describe_volumes()['Volumes']:
        yield 'volume', volume['VolumeId'], volume
    for address in ec2.describe_addresses()['Addresses']:
        yield 'address', address['AllocationId'], address
    for group in ec2.describe_security_groups()['SecurityGroups']:
        if group['GroupName'] != 'default':
            yield 'group', group['GroupId'], group
    for key in ec2.describe_key_pairs()['KeyPairs']:
        yield 'key', key['KeyName'], key
    for database in rds.describe_db_instances()['DBInstances']:
        yield 'database', database['DBInstanceIdentifier'], {'Tags': database.get('TagList')}


def show():
    for kind, name, owner in rows():
        tags = {tag['Key']: tag['Value'] for tag in owner.get('Tags') or []}
        print(kind, name, tags.get('redline', '-'))


driver = create_clidriver()


def command(args):
    if args == ['foreign']:
        return foreign()
    return show() if args == ['list'] else driver.main(args)


def words(path):
    with open(path, encoding='utf8') as file:
        return file.read().split('\0')[:-1]


class Handler(socketserver.StreamRequestHandler):
    """In a process of its own."""

    def handle(self):
        folder = self.rfile.readline().decode().strip()
        os.environ.clear()
        os.environ.update(line.split('=', 1) for line in words(f'{folder}/env'))
        os.chdir(os.environ['PWD'])
        for fd, name in ((1, 'out'), (2, 'err')):
            os.dup2(os.open(f'{folder}/{name}', os.O_WRONLY | os.O_CREAT), fd)
        try:
            code = command(words(f'{folder}/args')) or 0
        except SystemExit as end:
            code = end.code or 0
        sys.stdout.flush()
        sys.stderr.flush()
        self.wfile.write(f'{code}\n'.encode())


# Reads the models of its services once. A command here would leave its flags to all that follow.
for service in ('ec2', 'rds', 'sts'):
    driver.session.get_component('data_loader').load_service_model(service, 'service-2')


class Server(socketserver.ForkingTCPServer):
    request_queue_size = 64


with Server(('127.0.0.1', 0), Handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
