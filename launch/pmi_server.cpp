// SPDX-License-Identifier: Apache-2.0
#include "pmi_server.hpp"

#include <algorithm>
#include <utility>

namespace headway::launch {
namespace {

constexpr std::size_t name_length_max = 256;
constexpr std::size_t key_length_max = 64;
constexpr std::size_t value_length_max = 1024;
/// A process that lets this much lie unread is not speaking PMI.
constexpr std::size_t outbox_bytes_max = std::size_t{1} << 20U;
constexpr std::size_t dictionary_bytes_max = std::size_t{256} << 20U;

std::string number(std::size_t value)
{
    return std::to_string(value);
}

std::string text_of(const boot::Pmi1Line& line, std::string_view key)
{
    return std::string(line.find(key).value_or(""));
}

}  // namespace

struct PmiServer::Command {
    std::string_view name;
    Handler handler;
};

const PmiServer::Command PmiServer::commands[] = {
    {"init", &PmiServer::init},
    {"get_maxes", &PmiServer::get_maxes},
    {"get_appnum", &PmiServer::get_appnum},
    {"get_universe_size", &PmiServer::get_universe_size},
    {"get_my_kvsname", &PmiServer::get_my_kvsname},
    {"put", &PmiServer::put},
    {"get", &PmiServer::get},
    {"getbyidx", &PmiServer::get_by_index},
    {"barrier_in", &PmiServer::barrier_in},
    {"finalize", &PmiServer::finalize},
    {"publish_name", &PmiServer::publish},
    {"unpublish_name", &PmiServer::unpublish},
    {"lookup_name", &PmiServer::look_up},
    {"headway_share", &PmiServer::share_descriptor},
    {"headway_take", &PmiServer::give_descriptor},
    {"create_kvs", &PmiServer::refuse_spaces},
    {"destroy_kvs", &PmiServer::refuse_spaces},
};

PmiServer::PmiServer(std::string job, std::vector<int> program_indices)
    : job_(std::move(job)),
      program_indices_(std::move(program_indices)),
      clients_(program_indices_.size())
{
    dictionary_.emplace("PMI_process_mapping", "(vector,(0,1," + number(clients_.size()) + "))");
}

PmiEvent PmiServer::receive(std::size_t process, std::string_view bytes)
{
    Client& client = clients_[process];
    if (client.is_silenced) {
        return {};
    }
    client.inbox += bytes;
    PmiEvent event;
    std::size_t taken = 0;
    while (event.kind == PmiEvent::Kind::none) {
        const std::size_t end = client.inbox.find('\n', taken);
        if (end == std::string::npos) {
            break;
        }
        event = take_line(process, std::string_view(client.inbox).substr(taken, end - taken));
        taken = end + 1;
    }
    client.inbox.erase(0, taken);
    if (event.kind == PmiEvent::Kind::none && client.inbox.size() > boot::pmi1_line_max) {
        event = {PmiEvent::Kind::garbage, 0,
                 "a line that is too long: " + boot::quote_bytes(client.inbox)};
    }
    if (event.kind == PmiEvent::Kind::none && client.outbox.size() > outbox_bytes_max) {
        event = {PmiEvent::Kind::garbage, 0, "requests without reading the replies"};
    }
    if (event.kind != PmiEvent::Kind::none) {
        client.is_silenced = true;
        client.inbox.clear();
    }
    return event;
}

PmiEvent PmiServer::take_line(std::size_t process, std::string_view text)
{
    Client& client = clients_[process];
    if (client.is_in_block) {
        if (text == "endcmd") {
            client.is_in_block = false;
            client.outbox += "cmd=spawn_result rc=-1 msg=headway_mpiexec_cannot_spawn_yet\n";
        }
        return {};
    }
    const auto parsed = boot::parse_pmi1_line(text);
    if (!parsed) {
        return {PmiEvent::Kind::garbage, 0, parsed.sentence()};
    }
    const boot::Pmi1Line& line = parsed.value();
    if (line.is_multi_line()) {
        client.is_in_block = true;
        return {};
    }
    if (line.command() == "abort") {
        return {PmiEvent::Kind::abort, line.find_int("exitcode").value_or(1),
                text_of(line, "message")};
    }
    const auto* command =
        std::find_if(std::begin(commands), std::end(commands),
                     [&line](const Command& each) { return each.name == line.command(); });
    if (command == std::end(commands)) {
        return {PmiEvent::Kind::garbage, 0, "an unknown command: " + boot::quote_bytes(text)};
    }
    if (client.is_waiting) {
        return {PmiEvent::Kind::garbage, 0,
                "a command while it waits in a barrier: " + boot::quote_bytes(text)};
    }
    (this->*command->handler)(client, line);
    return {};
}

void PmiServer::init(Client& client, const boot::Pmi1Line& line)
{
    if (line.find_int("pmi_version") != 1) {
        client.outbox += "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n";
        return;
    }
    client.is_inside = true;
    // The last field is ours: other servers do not send it, other clients do not look for it.
    client.outbox +=
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0 headway_descriptor=1\n";
}

void PmiServer::get_maxes(Client& client, const boot::Pmi1Line&)
{
    client.outbox += "cmd=maxes rc=0 kvsname_max=" + number(name_length_max) +
                     " keylen_max=" + number(key_length_max) +
                     " vallen_max=" + number(value_length_max) + "\n";
}

void PmiServer::get_appnum(Client& client, const boot::Pmi1Line&)
{
    const auto process = static_cast<std::size_t>(&client - clients_.data());
    client.outbox += "cmd=appnum rc=0 appnum=" + std::to_string(program_indices_[process]) + "\n";
}

void PmiServer::get_universe_size(Client& client, const boot::Pmi1Line&)
{
    client.outbox += "cmd=universe_size rc=0 size=" + number(clients_.size()) + "\n";
}

void PmiServer::get_my_kvsname(Client& client, const boot::Pmi1Line&)
{
    client.outbox += "cmd=my_kvsname rc=0 kvsname=" + job_ + "\n";
}

void PmiServer::put(Client& client, const boot::Pmi1Line& line)
{
    const std::string key = text_of(line, "key");
    const std::string value = text_of(line, "value");
    if (line.find("kvsname") != job_ || key.empty() || key.size() >= key_length_max ||
        value.size() >= value_length_max) {
        client.outbox += "cmd=put_result rc=-1 msg=key_or_value_not_acceptable\n";
        return;
    }
    const std::size_t bytes = key.size() + value.size();
    if (dictionary_bytes_ + bytes > dictionary_bytes_max) {
        client.outbox += "cmd=put_result rc=-1 msg=dictionary_full\n";
        return;
    }
    dictionary_bytes_ += bytes;
    dictionary_.insert_or_assign(key, value);
    client.outbox += "cmd=put_result rc=0 msg=success\n";
}

void PmiServer::get(Client& client, const boot::Pmi1Line& line)
{
    const auto entry = dictionary_.find(line.find("key").value_or(""));
    if (line.find("kvsname") != job_ || entry == dictionary_.end()) {
        client.outbox += "cmd=get_result rc=-1 msg=key_not_found value=unknown\n";
        return;
    }
    client.outbox += "cmd=get_result rc=0 msg=success value=" + entry->second + "\n";
}

void PmiServer::get_by_index(Client& client, const boot::Pmi1Line& line)
{
    const int index = line.find_int("idx").value_or(-1);
    if (index < 0 || static_cast<std::size_t>(index) >= dictionary_.size()) {
        client.outbox += "cmd=getbyidx_results rc=-2 reason=no_more_keyvals\n";
        return;
    }
    const auto entry = std::next(dictionary_.begin(), index);
    client.outbox += "cmd=getbyidx_results rc=0 nextidx=" + std::to_string(index + 1) +
                     " key=" + entry->first + " val=" + entry->second + "\n";
}

void PmiServer::barrier_in(Client& client, const boot::Pmi1Line&)
{
    client.is_waiting = true;
    if (++waiting_count_ < clients_.size()) {
        return;
    }
    waiting_count_ = 0;
    for (Client& each : clients_) {
        each.is_waiting = false;
        each.outbox += "cmd=barrier_out rc=0\n";
    }
}

void PmiServer::finalize(Client& client, const boot::Pmi1Line&)
{
    client.is_inside = false;
    client.has_left = true;
    client.outbox += "cmd=finalize_ack rc=0\n";
}

void PmiServer::publish(Client& client, const boot::Pmi1Line& line)
{
    const std::string service = text_of(line, "service");
    const bool is_new = !service.empty() && published_.size() < dictionary_bytes_max / 4096 &&
                        published_.emplace(service, text_of(line, "port")).second;
    client.outbox += is_new ? "cmd=publish_result info=ok rc=0 msg=success\n"
                            : "cmd=publish_result info=no rc=-1 msg=service_already_published\n";
}

void PmiServer::unpublish(Client& client, const boot::Pmi1Line& line)
{
    const bool was_there = published_.erase(text_of(line, "service")) == 1;
    client.outbox += was_there ? "cmd=unpublish_result info=ok rc=0 msg=success\n"
                               : "cmd=unpublish_result info=no rc=-1 msg=service_not_found\n";
}

void PmiServer::look_up(Client& client, const boot::Pmi1Line& line)
{
    const auto entry = published_.find(line.find("service").value_or(""));
    client.outbox += entry == published_.end()
                         ? "cmd=lookup_result info=no rc=-1 msg=service_not_found\n"
                         : "cmd=lookup_result info=ok rc=0 port=" + entry->second + "\n";
}

void PmiServer::take_sent(std::size_t process, std::size_t bytes)
{
    Client& client = clients_[process];
    client.outbox.erase(0, bytes);
    if (client.descriptor_offset && *client.descriptor_offset < bytes) {
        client.descriptor_offset.reset();
    } else if (client.descriptor_offset) {
        *client.descriptor_offset -= bytes;
    }
}

bool PmiServer::offer_descriptor(std::size_t process)
{
    if (descriptor_source_) {
        return false;
    }
    descriptor_source_ = process;
    return true;
}

void PmiServer::share_descriptor(Client& client, const boot::Pmi1Line&)
{
    const auto process = static_cast<std::size_t>(&client - clients_.data());
    const bool is_taken = descriptor_source_ == process && !is_descriptor_shared_;
    is_descriptor_shared_ = is_descriptor_shared_ || is_taken;
    client.outbox += is_taken ? "cmd=headway_share_result rc=0\n"
                              : "cmd=headway_share_result rc=-1 msg=no_descriptor_came\n";
}

void PmiServer::give_descriptor(Client& client, const boot::Pmi1Line&)
{
    if (!is_descriptor_shared_ || client.descriptor_offset) {
        client.outbox += "cmd=headway_take_result rc=-1 msg=no_descriptor_is_shared\n";
        return;
    }
    client.descriptor_offset = client.outbox.size();
    client.outbox += "cmd=headway_take_result rc=0\n";
}

void PmiServer::refuse_spaces(Client& client, const boot::Pmi1Line& line)
{
    const bool creates = line.command() == "create_kvs";
    client.outbox += creates ? "cmd=newkvs rc=-1 msg=one_dictionary_a_job\n"
                             : "cmd=kvs_destroyed rc=-1 msg=one_dictionary_a_job\n";
}

}  // namespace headway::launch
